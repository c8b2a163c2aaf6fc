"""Numbers and pictures of this README: see gallery.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import figures
import numpy as np
import parts
import study
from gallery import Claim, Numbers, table

from halfreal.contracts import StateSpace
from halfreal.models import BaseExcited
from halfreal.rigs import AXES
from halfreal.runs import margin_of
from halfreal.stability import element_margins

PAPER = "shaking table"
SEEDS = 6
WHOLE = figures.WHOLE
RANDOM_UP_TO = 25.0  # Hz
STEPPED_AT = np.array([3.0, 5.0, 7.2, 7.5, 7.9, 9.0, 12.0, 15.5, 15.9, 19.0, 21.3, 22.0, 23.5, 25.0])  # Hz


def percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def ms(seconds: float, digits: int = 2) -> str:
    return f"{1e3 * seconds:.{digits}f} ms"


# --- of models: quick -------------------------------------------------------------------------------------------------


def of_equations() -> list[Claim]:
    """Section 2.2: what its simplifications cost for the store."""
    store = BaseExcited.of(parts.store(), parts.INTERFACE)
    part = parts.store()
    place = part.index(parts.INTERFACE)
    free = [i for i in range(len(part.dofs)) if i not in place]
    held, own = part.stiffness[np.ix_(place, free)], part.stiffness[np.ix_(place, place)]
    left = np.abs(held @ store.transmission + own).max() / np.abs(own).max()
    hz = np.linspace(0.5, study.BAND, 200)
    exact = store.dynamic_stiffness(hz)
    off = {
        name: float(
            (
                np.linalg.norm(store.dynamic_stiffness(hz, name) - exact, axis=(1, 2))
                / np.linalg.norm(exact, axis=(1, 2))
            ).max()
        )
        for name in ("uncoupled", "inertia only")
    }
    why = {
        "uncoupled": "D_aa T_G is kept without D_ab: slow rigid motion is damped against the ground",
        "inertia only": "of the store's damping, which resists deformation only, nothing is lost; M_ab is small here",
    }
    return [
        Claim(
            PAPER,
            "Eq. 25",
            "K_ba T_G + K_bb of a statically determined interface",
            "0",
            "below 1e-10 of K_bb" if left < 1e-10 else f"{left:.0e} of K_bb",
            bool(left < 1e-10),
            "",
            "parts.py",
        ),
        *(
            Claim(
                PAPER,
                at,
                f"dynamic stiffness of the store up to {study.BAND:g} Hz {words}",
                "reasonably accurate",
                f"off by up to {percent(off[name]) if off[name] < 1 else f'{off[name]:.0f} times itself'}",
                bool(off[name] < 0.05),
                why[name],
                "parts.py",
            )
            for at, name, words in (
                ("Eq. 21", "uncoupled", "without M_ab and D_ab"),
                ("Eq. 22", "inertia only", "without all damping of the base motion too"),
            )
        ),
    ]


def loop_values() -> dict[str, str]:
    hz, values = figures.loop_eigenvalues()
    sizes = np.abs(values)
    peaks = sorted(((sizes[:, k].max(), hz[sizes[:, k].argmax()]) for k in range(values.shape[1])), reverse=True)[:2]
    told = [f"{size:.2f} at {at:.1f} Hz" for size, at in peaks]
    return {"first eigenvalue": told[0], "second eigenvalue": told[1]}


# --- of rehearsals ----------------------------------------------------------------------------------------------------


def of_elements() -> tuple[Claim, dict[str, str]]:
    """Nyquist's criterion for one channel on single elements, in two units of moments, and the exact margin."""
    model = figures.loop_model()
    read = element_margins(model)
    scale = np.array([1.0, 1.0, 1.0, 1e3, 1e3, 1e3])  # N mm in place of N m
    other = element_margins(
        StateSpace(model.a, model.b / scale, scale[:, None] * model.c, scale[:, None] * model.d / scale)
    )
    worst = [AXES[int(i)] for i in np.unravel_index(np.nanargmin(read.delays), read.delays.shape)]
    own = float(np.nanmin(np.diag(read.delays)))
    claim = Claim(
        PAPER,
        "Sec. 3.1",
        "the simplified criterion on the elements of the loop of wing and store",
        "can be applied",
        f"{ms(read.least)} with moments in N m, {ms(other.least)} in N mm; {ms(read.exact, 1)} are tolerated",
        bool(abs(read.least / read.exact - 1) < 0.05),
        "elements change with units and axes, stability does not",
        "readme_numbers.py",
    )
    return claim, {
        "read in N m": ms(read.least),
        "read in N mm": ms(other.least),
        "read at": f"{worst[0]} by {worst[1]}",
        "read on the diagonal": ms(own, 1),
        "borne without the table": ms(read.exact, 1),
    }


@cache
def damping_errors(times: float) -> np.ndarray:
    """Of the identified damping, as a part of the true one, (seeds, modes); noise so many times that of the rod."""
    coupling = study.couplings()[WHOLE]
    rows = []
    for seed in range(1, SEEDS + 1):
        found = study.from_random(coupling, study.noise(times, seed))
        lines = study.table(coupling, study.modal(found.frequency_hz, found.values))
        rows.append([line[5] / line[1] - 1 for line in lines])
    return np.array(rows)


def noise_table() -> list[str]:
    rows = []
    for times, name in ((0.1, "0.2 µm, 0.05 N (`six_axes.toml`)"), (1.0, "2 µm, 0.5 N, as on the rod's table")):
        off = 100 * damping_errors(times)
        cells = [
            f"{off[:, k].mean():+.1f} ({off[:, k].min():+.1f} … {off[:, k].max():+.1f})" for k in range(off.shape[1])
        ]
        rows.append([name, *(cell.replace("-", "−") for cell in cells)])
    return table(["noise of the sensors", *(f"mode {k}" for k in range(1, 8))], rows)


def mode_table() -> list[str]:
    ways = ("no compensation", "inverse filters", "and prediction")
    head = ["mode", "true f", "true D"]
    for way in ways:
        head += [f"{way}: f (Δf)", "D (ΔD)"]
    return [*table([*head, "MAC"], []), *figures.mode_rows()]


def of_modes() -> tuple[list[Claim], dict[str, str]]:
    lines = {name: study.table(study.couplings()[name], figures.modes_of_test(name)) for name in figures.TOLD}
    shifts = {name: max(abs(row[4] / row[0] - 1) for row in rows) for name, rows in lines.items()}
    ratios = {name: max(abs(row[5] / row[1] - 1) for row in rows) for name, rows in lines.items()}
    apart = [abs(row[5] - row[3]) for rows in lines.values() for row in rows[:6]]
    last = [abs(row[5] - row[3]) for rows in lines.values() for row in rows[6:]]
    impulse = []
    hz, values, decays = study.by_impulse(study.couplings()[WHOLE])
    for found in (study.modal(hz, values), study.lsce(decays, study.STEP, 7, highest_hz=study.HIGHEST)):
        impulse += [abs(row[5] / row[3] - 1) for row in study.table(study.couplings()[WHOLE], found)]
    why = "announced by the paper for later; done here"
    claims = [
        Claim(
            PAPER,
            "Sec. 6",
            "frequency responses of the assembled structure from the test",
            "",
            "eight channels, up to 25 Hz",
            None,
            why,
            "images/responses.png",
        ),
        Claim(
            PAPER,
            "Sec. 6",
            "impact of the delay on identified modal parameters",
            "",
            f"frequencies off by up to {percent(shifts[figures.NONE])}, damping by {percent(ratios[figures.NONE], 0)}; "
            f"compensated {percent(shifts[WHOLE])} and {percent(ratios[WHOLE])}",
            None,
            why,
            "images/damping.png",
        ),
    ]
    return claims, {
        "frequencies off": percent(shifts[WHOLE]),
        "damping off": percent(ratios[WHOLE]),
        "damping off without": percent(ratios[figures.NONE], 0),
        "estimator below 22 Hz": f"{max(apart):.2f} %",
        "estimator above": f"{max(last):.1f} %",
        "impulse": percent(max(impulse), 0),
    }


def compensation_values() -> dict[str, str]:
    tried = study.tuning().tried
    parabola = next(
        one for one in tried if (one.coupling.order, one.coupling.points) == (2, 4) and one.coupling.prediction.any()
    )
    test = study.definition()
    plain = margin_of(test.model_copy(update={"coupling": parabola.coupling}))
    own = margin_of(test)
    hz, values = figures.loop_eigenvalues()
    late = float(np.mean([one.delays[0] for one in study.axes()]))
    turned = np.abs(1 + values * np.exp(-2j * np.pi * hz * late)[:, None])
    line, column = np.unravel_index(turned.argmin(), turned.shape)
    true, loop = study.true_poles()[0], study.loop_poles(study.couplings()[WHOLE])
    off = np.abs((loop.real / np.abs(loop)) / (true.real / np.abs(true)) - 1).max()
    return {
        "code's damping": percent(off),
        "nearest eigenvalue": f"{abs(values[line, column]):.2f} at {hz[line]:.1f} Hz",
        "left by prediction": percent(tried[0].left),
        "left by a parabola": percent(parabola.left, 0),
        "gain margin": f"{own.gain_margin_db:.1f} dB",
        "gain margin of a parabola": f"{plain.gain_margin_db:.1f} dB",
        "away from −1": f"{turned.min():.2f}",
        "borne": f"{1e3 * own.critical_delay:.0f} ms",
    }


def response_values() -> dict[str, str]:
    """How far responses are from those with the wing's kept modes, and what the others cost."""
    kept, true = parts.kept_modes_response(STEPPED_AT, study.DOFS), study.true_response(STEPPED_AT)
    found = study.by_stepped_sine(study.couplings()[WHOLE], STEPPED_AT)
    largest = np.abs(true).max(axis=0)
    test, left_out = (np.abs(one - kept).max(axis=0) / largest for one in (found, true))
    random = figures.measured(WHOLE)
    lines = (random.frequency_hz > 2.0) & (random.frequency_hz <= RANDOM_UP_TO)
    wanted = parts.kept_modes_response(random.frequency_hz[lines], study.DOFS)
    off = np.abs(random.values[: len(study.DOFS), lines] - wanted).max(axis=0) / np.abs(wanted).max(axis=0)

    def at(values: np.ndarray, hz: float) -> str:
        return percent(float(values[np.argmin(np.abs(STEPPED_AT - hz))]), 0)

    return {
        "off up to 22 Hz": percent(float(test[STEPPED_AT <= 22.0].max())),
        "off up to 25 Hz": percent(float(test.max())),
        "off by random": percent(float(off.max()), 0),
        "left out at 7.9 Hz": at(left_out, 7.9),
        "left out at 19 Hz": at(left_out, 19.0),
        "left out at 21.3 Hz": at(left_out, 21.3),
    }


def make(images: Path, quick: bool) -> Numbers:
    claims = of_equations()
    if quick:
        return Numbers(claims, {}, loop_values())
    figures.draw(images)
    elements, read = of_elements()
    modes, told = of_modes()
    tables = {
        "axes": [*table(["axis", *AXES], []), *figures.axis_rows()],
        "modes": mode_table(),
        "noise": noise_table(),
        "errors": [*table(["", *(f"{hz:g} Hz" for hz in figures.ERRORS_AT)], []), *figures.error_rows()],
    }
    worst = 100 * damping_errors(1.0)[:, 4]
    noisy = {"mode 5 with noise": f"{abs(worst.mean()):.0f} %"}
    values = {**loop_values(), **compensation_values(), **read, **told, **response_values(), **noisy}
    return Numbers([*claims, elements, *modes], tables, values)
