"""Which laws there are, by what they are a law of: a force over a displacement, a moment over a rotation, or a stress
over a strain."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .elastic import ElasticFibre, LinearHinge, LinearLaw
from .elastoplastic import ElastoplasticFibre, ElastoplasticHinge, ElastoplasticLaw
from .menegotto_pinto import MenegottoPintoFibre, MenegottoPintoHinge, MenegottoPintoLaw

AnySpringLaw = Annotated[LinearLaw | ElastoplasticLaw | MenegottoPintoLaw, Field(discriminator="kind")]
AnyHingeLaw = Annotated[LinearHinge | ElastoplasticHinge | MenegottoPintoHinge, Field(discriminator="kind")]
AnyFibreLaw = Annotated[ElasticFibre | ElastoplasticFibre | MenegottoPintoFibre, Field(discriminator="kind")]
AnyLaw = Annotated[
    LinearLaw
    | ElastoplasticLaw
    | MenegottoPintoLaw
    | LinearHinge
    | ElastoplasticHinge
    | MenegottoPintoHinge
    | ElasticFibre
    | ElastoplasticFibre
    | MenegottoPintoFibre,
    Field(discriminator="kind"),
]
