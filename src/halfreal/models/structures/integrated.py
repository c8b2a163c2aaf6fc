"""Virtual substructures with matrices that a scheme integrates, and what of the contract follows from the scheme."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ... import units
from ...contracts.finding import Finding
from ...contracts.known import Known
from ...contracts.massless import MasslessError, is_regular
from ...contracts.quantities import ActsAs, Hold
from ...contracts.system import Method, System
from ...settings import fault
from ..schemes.any_scheme import AnyScheme, answered_next_tick
from ..schemes.scheme import Scheme
from .virtual_block import OneBlock

if TYPE_CHECKING:
    from ...studies.check.examined import Examined


class Integrated(OneBlock):
    """A structure with matrices and a ``scheme`` that integrates them."""

    if TYPE_CHECKING:  # each kind has this field of its own, behind those that its scheme must suit
        scheme: AnyScheme

    def system(self, excitation: ActsAs) -> System:
        raise NotImplementedError

    def check_step(self, dt: float) -> None:
        """Raise a fault if the scheme is not stable at this step for the structure on its own."""
        system = self.system("none")
        try:
            if not is_regular(system.mass):
                self.scheme.method(system, dt)
            check_step(self.scheme, system, dt)
        except MasslessError as error:
            raise fault(str(error), "scheme") from error

    def fits(self, known: Known) -> None:
        super().fits(known)
        if known.step is not None:
            self.check_step(known.step)

    def check_slow(self) -> None:
        if not self.scheme.answered_next_tick:
            raise fault(
                f"'{self.scheme.kind}' uses the measured force as that of the same tick, but in a slow "
                "test it is the response to the previous target; use virtual.scheme = "
                f"{' or '.join(map(repr, answered_next_tick()))}"
            )

    def own_method(self, system: System, step: float) -> Method | None:
        return self.scheme.method(system, step)

    def form(self, step: float) -> str:
        found = self.scheme.faster(self.system("none"), step)
        return "" if found is None else found.form

    @property
    def force_hold(self) -> Hold:
        return self.scheme.input_hold

    def findings(self, examined: Examined) -> Iterable[Finding]:
        """On its scheme, where the specimen is known."""
        specimen = examined.definition.rig.known_specimen
        return () if specimen is None else self.scheme.findings(specimen.stiffness_at_rest(self.axes))


def check_step(scheme: Scheme, system: System, dt: float) -> None:
    """Refuse a step at which the scheme is not stable for the substructure on its own."""
    limit = scheme.critical_step(system)
    kind = scheme.kind
    others = "'operator splitting'" if scheme.answered_next_tick else "'exact', 'newmark' or 'kr-alpha'"
    remedy = f"use a scheme that is stable at any step, e.g. {others}"
    if limit == 0.0:
        raise fault(
            f"'{kind}' grows at any step where a mode has no damping, as here; add damping, or {remedy}", "scheme"
        )
    if limit is not None and dt > limit:
        raise fault(
            f"'{kind}' is stable up to a step of {units.text(limit, 's')} for this substructure, but the step is "
            f"{units.text(dt, 's')}; shorten it, or {remedy}",
            "scheme",
        )
