"""Modal parameters as text, as numbers for programs, and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures import BAD, MEASURED, QUIET, REFERENCE, TARGET, new_figure, styled
from ..identification.complex_frequency import synthesised
from ..studies.modal_analysis import ModalAnalysis, Mode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PANELS = 8
"""Responses that are drawn: the first ones."""


def as_text(found: ModalAnalysis) -> list[str]:
    """A row for each mode, and how much they leave unexplained."""
    responses = found.responses
    decay, coherence = (
        any(getattr(one, key) is not None for one in found.modes) for key in ("from_decay", "coherence")
    )
    heads = ["mode", "frequency", "±", "damping", "±", "orders"]
    heads += ["coherence"] * coherence + ["free decay"] * decay + ["linearised loop"]
    rows = [_row(number, one, coherence, decay) for number, one in enumerate(found.modes, start=1)]
    widths = [max(len(row[i]) for row in [heads, *rows]) + 2 for i in range(len(heads))]
    lines = ["".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in [heads, *rows]]
    of = "responses, as displacements," if any(responses.derivatives) else "responses"
    averages = f", {responses.averages} averages" if responses.averages > 1 else ""
    doubtful = ["?: absent from some of these models, possibly noise."] * any(not one.stays for one in found.modes)
    made = [number for number, one in enumerate(found.modes, start=1) if one.made_of]
    if made:
        of_modes = sorted({number for one in found.modes for number in one.made_of})
        doubtful.append(
            f"? {', '.join(map(str, made))}: sum or multiple of modes {', '.join(map(str, of_modes))} (or their "
            "difference), with no pole of the linearised loop nearby: possibly caused by a nonlinearity."
        )
    return [
        f"{len(responses.outputs)} response(s) to {responses.input} ({responses.kind}{averages}), "
        f"{found.lowest_hz:.4g} to {found.highest_hz:.4g} Hz",
        "",
        *lines,
        "",
        f"{100 * found.poles.misfit:.3g} % of the {of} unexplained. ±: 95 % interval due to noise. Orders:",
        "share of the ten highest orders that contain the mode. Linearised loop: its nearest pole, from the run file.",
        *doubtful,
        *(f"note: {text}" for text in found.notes),
    ]


def _row(number: int, one: Mode, coherence: bool, decay: bool) -> list[str]:
    cells = [
        f"{'? ' * one.doubtful}{number}",
        f"{one.frequency_hz:.3f} Hz",
        _least(one.frequency_interval_hz, 4, "Hz"),
        f"{100 * one.damping:.2f} %",
        _least(100 * one.damping_interval, 3, "%"),
        f"{100 * one.orders:.0f} %",
    ]
    cells += ["—" if one.coherence is None else f"{one.coherence:.4f}"] * coherence
    return [*cells, *[_pair(one.from_decay)] * decay, _pair(one.of_loop)]


def _least(value: float, digits: int, unit: str) -> str:
    if np.isnan(value):
        return "—"
    least = 10.0**-digits
    return f"< {least:g} {unit}" if value < least else f"{value:.{digits}f} {unit}"


def _pair(pole: tuple[float, float] | None) -> str:
    return "—" if pole is None else f"{pole[0]:.3f} Hz {100 * pole[1]:.2f} %"


def as_numbers(found: ModalAnalysis) -> dict[str, Any]:
    """For programs."""
    responses = found.responses
    return {
        "input": responses.input,
        "outputs": list(responses.outputs),
        "units": list(responses.units),
        "excitation": responses.kind,
        "averages": responses.averages,
        "lowest_hz": found.lowest_hz,
        "highest_hz": found.highest_hz,
        "unexplained": found.poles.misfit,
        "notes": list(found.notes),
        "modes": [
            {
                "frequency_hz": one.frequency_hz,
                "damping": one.damping,
                "frequency_interval_hz": one.frequency_interval_hz,
                "damping_interval": one.damping_interval,
                "share_of_orders": one.orders,
                "doubtful": one.doubtful,
                "made_of_modes": list(one.made_of),
                "coherence": one.coherence,
                "free_decay": one.from_decay,
                "linearised_loop": one.of_loop,
                "shape_real": found.poles.residues[:, i].real.tolist(),
                "shape_imaginary": found.poles.residues[:, i].imag.tolist(),
            }
            for i, one in enumerate(found.modes)
        ],
    }


@styled
def figure(found: ModalAnalysis) -> Figure:
    """Responses with what the modes make of them, and the stabilisation diagram."""
    responses = found.responses.between(found.lowest_hz, found.highest_hz)
    shown = min(len(responses.outputs), MOST_PANELS)
    columns = min(shown, 2)
    rows = -(-shown // columns)
    drawn = new_figure(9, 1.9 * rows + 3.4)
    grid = drawn.add_gridspec(rows + 1, columns, height_ratios=[*[1.0] * rows, 1.7])
    hz = responses.frequency_hz
    fitted = synthesised(hz, responses.displacements().values, found.poles.poles) * responses.motion()
    for i in range(shown):
        axes = drawn.add_subplot(grid[i // columns, i % columns])
        axes.semilogy(hz, np.abs(responses.values[i]), color=TARGET, label="measured")
        axes.semilogy(hz, np.abs(fitted[i]), "--", color=MEASURED, label="from the modes")
        for pole in found.poles.frequency_hz:
            axes.axvline(pole, color=QUIET, linewidth=0.6)
        axes.set(title=responses.outputs[i], ylabel=responses.units[i], xlim=(hz[0], hz[-1]))
    drawn.axes[0].legend(ncols=2)
    _diagram(drawn.add_subplot(grid[rows, :]), found, responses.values, hz)
    return drawn


def _diagram(axes: Any, found: ModalAnalysis, values: np.ndarray, hz: np.ndarray) -> None:
    orders = found.stabilisation.orders
    for order, poles in zip(orders, found.stabilisation.poles, strict=True):
        axes.plot(np.abs(poles) / (2 * np.pi), np.full(len(poles), order), ".", color=QUIET, markersize=3)
    for pole in found.poles.poles:
        same = found.stabilisation.same(complex(pole))
        kept = [(abs(one) / (2 * np.pi), order) for one, order in zip(same, orders, strict=True) if one is not None]
        axes.plot(*np.transpose(kept), "o", color=BAD, markersize=3.2)
        axes.axvline(abs(pole) / (2 * np.pi), color=QUIET, linewidth=0.6)
    axes.plot([], [], ".", color=QUIET, label="poles of models")
    axes.plot([], [], "o", color=BAD, markersize=3.2, label="modes")
    axes.set(xlabel="frequency [Hz]", ylabel="order", xlim=(hz[0], hz[-1]), title="Stabilisation", ylim=(0, None))
    axes.legend(ncols=2, loc="lower right")
    size = np.abs(values) / np.abs(values).max(axis=1, keepdims=True)
    beside = axes.twinx()
    beside.semilogy(hz, np.sqrt(np.mean(size**2, axis=0)), color=REFERENCE, linewidth=0.8, alpha=0.5)
    beside.set_yticks([])
    beside.set_yticks([], minor=True)
    beside.grid(False)
    beside.set_zorder(axes.get_zorder() - 1)
    axes.patch.set_visible(False)
