"""Which laws there are, by what they are a law of: a force over a displacement, a moment over a rotation, or a stress
over a strain.  A new law is its file, a line in ``uniaxial.py`` and one here.  Each is imported on use."""

from __future__ import annotations

from typing import Annotated

from ...settings import OneAt
from .law import Law

SPRINGS = {
    "linear": "elastic:LinearLaw",
    "cubic": "cubic:CubicLaw",
    "bilinear": "bilinear:BilinearLaw",
    "gap": "gap:Gap",
    "hook": "gap:Hook",
    "elastoplastic": "elastoplastic:ElastoplasticLaw",
    "bouc-wen": "bouc_wen:BoucWenLaw",
    "menegotto-pinto": "menegotto_pinto:MenegottoPintoLaw",
    "ibarra-medina-krawinkler": "ibarra_medina_krawinkler:IMKLaw",
    "coulomb friction": "friction:Friction",
    "friction pendulum": "friction_pendulum:FrictionPendulum",
    "power damper": "power_damper:PowerDamper",
    "maxwell damper": "maxwell_damper:MaxwellDamper",
    "mr damper": "mr_damper:MRDamper",
}
HINGES = {
    "linear hinge": "elastic:LinearHinge",
    "cubic hinge": "cubic:CubicHinge",
    "bilinear hinge": "bilinear:BilinearHinge",
    "elastoplastic hinge": "elastoplastic:ElastoplasticHinge",
    "bouc-wen hinge": "bouc_wen:BoucWenHinge",
    "menegotto-pinto hinge": "menegotto_pinto:MenegottoPintoHinge",
    "ibarra-medina-krawinkler hinge": "ibarra_medina_krawinkler:IMKHinge",
}
FIBRES = {
    "elastic fibre": "elastic:ElasticFibre",
    "elastoplastic fibre": "elastoplastic:ElastoplasticFibre",
    "menegotto-pinto fibre": "menegotto_pinto:MenegottoPintoFibre",
    "kent-park concrete": "kent_park:KentPark",
    "concrete with tension": "concrete_with_tension:ConcreteWithTension",
}

AnyElementLaw = Annotated[Law, OneAt(__package__, SPRINGS | HINGES)]
AnyLaw = Annotated[Law, OneAt(__package__, SPRINGS | HINGES | FIBRES)]
