"""Which laws there are, by what they are a law of: a force over a displacement, a moment over a rotation, or a stress
over a strain.  A new law is its file, a line in ``uniaxial.py`` and one here."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from .bilinear import BilinearHinge, BilinearLaw
from .bouc_wen import BoucWenHinge, BoucWenLaw
from .concrete_with_tension import ConcreteWithTension
from .cubic import CubicHinge, CubicLaw
from .elastic import ElasticFibre, LinearHinge, LinearLaw
from .elastoplastic import ElastoplasticFibre, ElastoplasticHinge, ElastoplasticLaw
from .friction import Friction
from .friction_pendulum import FrictionPendulum
from .gap import Gap, Hook
from .ibarra_medina_krawinkler import IMKHinge, IMKLaw
from .kent_park import KentPark
from .maxwell_damper import MaxwellDamper
from .menegotto_pinto import MenegottoPintoFibre, MenegottoPintoHinge, MenegottoPintoLaw
from .mr_damper import MRDamper
from .power_damper import PowerDamper

Spring = (
    LinearLaw
    | CubicLaw
    | BilinearLaw
    | Gap
    | Hook
    | ElastoplasticLaw
    | BoucWenLaw
    | MenegottoPintoLaw
    | IMKLaw
    | Friction
    | FrictionPendulum
    | PowerDamper
    | MaxwellDamper
    | MRDamper
)
Hinge = LinearHinge | CubicHinge | BilinearHinge | ElastoplasticHinge | BoucWenHinge | MenegottoPintoHinge | IMKHinge
Fibre = ElasticFibre | ElastoplasticFibre | MenegottoPintoFibre | KentPark | ConcreteWithTension

AnySpringLaw = Annotated[Spring, Field(discriminator="kind")]
AnyHingeLaw = Annotated[Hinge, Field(discriminator="kind")]
AnyElementLaw = Annotated[Spring | Hinge, Field(discriminator="kind")]
AnyFibreLaw = Annotated[Fibre, Field(discriminator="kind")]
AnyLaw = Annotated[Spring | Hinge | Fibre, Field(discriminator="kind")]
