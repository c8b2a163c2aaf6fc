"""An open loop as numbers for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..stability.loci import Loci
    from ..studies.open_loop.open_loop import OpenLoop


def as_numbers(found: OpenLoop) -> dict[str, Any]:
    elements = found.elements
    return {
        "title": found.title,
        "axes": list(found.names),
        "model": None if found.model is None else _loci(found.model),
        "measured": None if found.measured is None else _loci(found.measured),
        "elements": None
        if elements is None
        else {
            "frequency_hz": elements.frequency_hz.tolist(),
            "real": elements.values.real.tolist(),
            "imag": elements.values.imag.tolist(),
        },
        "element_by_element": found.element_text,
        "notes": list(found.notes),
    }


def _loci(loci: Loci) -> dict[str, Any]:
    return {
        "margins": loci.text,
        "crossings": [
            {"frequency_hz": hz, "lag_deg": lag, "delay_s": delay}
            for hz, lag, delay in zip(
                loci.crossing_hz.tolist(), loci.lag_deg.tolist(), loci.delay_s.tolist(), strict=True
            )
        ],
        "gains": [
            {"frequency_hz": hz, "gain_db": gain}
            for hz, gain in zip(loci.gain_hz.tolist(), loci.gain_db.tolist(), strict=True)
        ],
        "frequency_hz": loci.frequency_hz.tolist(),
        "eigenvalue_real": loci.values.real.tolist(),
        "eigenvalue_imag": loci.values.imag.tolist(),
    }
