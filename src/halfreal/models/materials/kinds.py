"""Which laws there are, by what they are a law of: a force over a displacement, a moment over a rotation, or a stress
over a strain."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .bilinear import BilinearHinge, BilinearLaw
from .bouc_wen import BoucWenHinge, BoucWenLaw
from .cubic import CubicHinge, CubicLaw
from .elastic import ElasticFibre, LinearHinge, LinearLaw
from .elastoplastic import ElastoplasticFibre, ElastoplasticHinge, ElastoplasticLaw
from .menegotto_pinto import MenegottoPintoFibre, MenegottoPintoHinge, MenegottoPintoLaw

Spring = LinearLaw | CubicLaw | BilinearLaw | ElastoplasticLaw | BoucWenLaw | MenegottoPintoLaw
Hinge = LinearHinge | CubicHinge | BilinearHinge | ElastoplasticHinge | BoucWenHinge | MenegottoPintoHinge
Fibre = ElasticFibre | ElastoplasticFibre | MenegottoPintoFibre

AnySpringLaw = Annotated[Spring, Field(discriminator="kind")]
AnyHingeLaw = Annotated[Hinge, Field(discriminator="kind")]
AnyElementLaw = Annotated[Spring | Hinge, Field(discriminator="kind")]
AnyFibreLaw = Annotated[Fibre, Field(discriminator="kind")]
AnyLaw = Annotated[Spring | Hinge | Fibre, Field(discriminator="kind")]
