"""Numbers and pictures of this README: see gallery.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import figures
import limits
import numpy as np
import oscillator
import study
from gallery import Claim, Numbers, table

from halfreal.identification import Estimate
from halfreal.rigs import MAVIS
from halfreal.runs import linearised
from halfreal.runs.loop_stability import margin_of
from halfreal.stability import delay_margin
from halfreal.stability.elementwise import element_margins

PAPER = "shaking table"
HZ = 2 * np.pi


def ms(seconds: float, digits: int = 2) -> str:
    return f"{1e3 * seconds:.{digits}f} ms"


def near(value: float, printed: float, unit: float) -> bool:
    """Equal to a unit of the last digit printed."""
    return bool(abs(value - printed) < unit)


# --- what is quickly computed -----------------------------------------------------------------------------------------


def pictures_of_parts() -> list[Claim]:
    """Figures with nothing to compute."""
    shown = (
        ("Fig. 1", "the table MAVIS", "a photograph", ""),
        (
            "Fig. 2",
            "subsystems and their interactions",
            "a sketch; the loop of this kind is drawn in the top README",
            "",
        ),
        ("Fig. 3", "quasi-static and relative response", "a sketch", ""),
        ("Fig. 4", "block diagram of the closed loop", "a sketch; its L is drawn as Fig. 10", ""),
        ("Fig. 9", "rod, mass and interface", "a sketch; it is the definition", "rod.toml"),
    )
    return [Claim(PAPER, at, what, "", "", None, why, file) for at, what, why, file in shown]


def oscillators() -> list[Claim]:
    """Figs. 5 to 7."""
    nominal, doubled = (delay_margin(oscillator.loop(ratio)) for ratio in (0.01, 0.02))
    below, above = nominal.phases_deg
    moved = float(np.abs(doubled.frequency_hz / nominal.frequency_hz - 1).max())
    gained = doubled.phases_deg[1] - above
    found = oscillator.late()
    half_a_period = 0.5 / oscillator.AT_LIMIT
    least = min(delay_margin(oscillator.loop(ratio)).phases_deg[1] for ratio in (1e-4, 1e-3, 0.01, 0.05))
    picture, drawn = "images/figures_5_and_6_damping.png", "images/figure_7_oscillator.png"
    tenfold = "misprint: ten times that; a loop of a mass on an oscillator bears over half a period, whatever its data"
    return [
        Claim(
            PAPER,
            "Fig. 5",
            "crossovers, where the gain is 1, and the phase that each bears",
            "two; far more phase at the lower one",
            f"{len(nominal.omega)}; {below:.1f}° and {above:.1f}°",
            len(nominal.omega) == 2 and bool(below - above > 90.0),
            "with data of ours: the figure's are not printed",
            picture,
        ),
        Claim(
            PAPER,
            "Fig. 6",
            "damping doubled",
            "crossovers hardly move, the phase margin grows",
            f"they move by {100 * moved:.1f} %, the margin grows by {gained:.1f}°",
            bool(moved < 0.01 and gained > 0),
            "",
            picture,
        ),
        Claim(
            PAPER,
            "Fig. 7",
            "frequency without delay and at the limit",
            "4.5 Hz, 5.5 Hz",
            f"{found.without_hz:.2f} Hz, {found.limit_hz:.2f} Hz",
            near(found.without_hz, 4.5, 0.1) and near(found.limit_hz, 5.5, 0.1),
            "f₀ and the mass ratio follow from these two",
            drawn,
        ),
        Claim(
            PAPER,
            "Fig. 7",
            "delay of the largest damping",
            "about 7 ms",
            ms(found.largest_at, 0),
            near(1e3 * found.largest_at, 7, 1),
            tenfold,
            drawn,
        ),
        Claim(
            PAPER,
            "Fig. 7",
            "the structure's pole becomes unstable",
            "about 9 ms",
            f"{ms(found.limit, 1)}; at 5.5 Hz not before {ms(half_a_period, 1)} (least phase margin {least:.1f}°)",
            near(1e3 * found.limit, 9, 1),
            tenfold,
            drawn,
        ),
        Claim(
            PAPER,
            "Fig. 7",
            "the delay's pole comes near",
            "beyond 6 ms",
            f"below 10 Hz from {ms(found.delays_pole_above, 0)} on",
            near(1e3 * found.delays_pole_above, 6, 1),
            tenfold,
            drawn,
        ),
    ]


def rod() -> list[Claim]:
    """Table 1, and the frequencies with the mass on it."""
    hz, mass = study.rod_modes(4)
    printed_hz, printed_mass = (4.03, 12.19, 20.65, 29.61), (53.78, 52.04, 48.73, 44.17)
    whole = study.rod_with_mass()[:2]
    kept = [abs(pole) / HZ for pole in study.coupled_poles()]
    same = np.allclose(hz, printed_hz, atol=6e-3) and np.allclose(mass, printed_mass, atol=6e-3)
    return [
        Claim(
            PAPER,
            "Tab. 1",
            "frequencies and modal masses of the rod",
            "; ".join(f"{f:.2f} Hz, {m:.2f} kg" for f, m in zip(printed_hz, printed_mass, strict=True)),
            "; ".join(f"{f:.2f} Hz, {m:.2f} kg" for f, m in zip(hz, mass, strict=True)),
            bool(same),
            "ten linear elements with consistent mass; kg m² in its head is a slip, the masses are in kg",
            "study.py",
        ),
        Claim(
            PAPER,
            "Sec. 5",
            "theoretical frequencies with the mass",
            "3.62 Hz, 10.98 Hz",
            f"{whole[0]:.2f} Hz, {whole[1]:.2f} Hz",
            near(whole[0], 3.62, 0.011) and near(whole[1], 10.98, 0.011),
            f"with all of the rod; the two modes that run give {kept[0]:.2f} Hz and {kept[1]:.2f} Hz",
            "study.py",
        ),
    ]


def loop() -> list[Claim]:
    """Fig. 10 and the sentences on it."""
    model = study.open_loop(study.definition())
    margin = delay_margin(model)
    last, delay = margin.critical_frequency_hz, margin.critical_delay
    phase = float(np.degrees(np.angle(model.response(margin.omega[-1:])[0, 0, 0])))
    gains = [delay_margin(study.open_loop(limits.with_modes(count))).high_frequency_gain for count in (2, 3, 4)]
    two_rows = element_margins(oscillator.turned(model))
    picture = "images/figure_10_loop.png"
    three = ms(delay_margin(study.open_loop(limits.with_modes(3))).critical_delay)
    return [
        Claim(PAPER, "Fig. 10", "crossovers", "four", f"{len(margin.omega)}", len(margin.omega) == 4, "", picture),
        Claim(
            PAPER,
            "Fig. 10",
            "highest crossover, phase there, phase margin",
            "14.7 Hz, 2.3°, 182.3°",
            f"{last:.2f} Hz, {phase:.1f}°, {180 + phase:.1f}°",
            near(last, 14.7, 0.1) and near(phase, 2.3, 0.1),
            "",
            picture,
        ),
        Claim(PAPER, "Sec. 5", "critical delay", "34.3 ms", ms(delay), near(1e3 * delay, 34.3, 0.1), "", picture),
        Claim(
            PAPER,
            "Sec. 5",
            "gain at high frequency with a third mode",
            "above 1: unstable",
            f"{gains[1]:.3f}",
            bool(gains[1] > 1),
            f"the sum of 12.5 kg over the modal masses is below 1: stable up to {three}",
            "limits.py",
        ),
        Claim(
            PAPER,
            "Sec. 5",
            "gain at high frequency with four modes",
            "above 1: unstable",
            f"{gains[2]:.3f}",
            bool(gains[2] > 1),
            "unstable for any pure delay",
            "limits.py",
        ),
        Claim(
            PAPER,
            "Sec. 3.1",
            "the simplified criterion on single elements of a matrix of transfer functions",
            "can be applied",
            f"the rod at 45° to x and y: {ms(two_rows.least)}, where {ms(two_rows.exact)} are borne",
            bool(two_rows.least <= two_rows.exact),
            "elements change with the axes that are chosen, stability does not; see the six-axis example too",
            "oscillator.py",
        ),
        Claim(
            PAPER,
            "Sec. 4",
            "rotations that ±50 mm of stroke allow",
            "about ±4.5°",
            f"±{np.degrees(50e-3 / MAVIS[0].position[0] * -1):.1f}°",
            near(float(np.degrees(-50e-3 / MAVIS[0].position[0])), 4.5, 0.1),
            "ours: where the actuators hold the table was chosen to give it",
            "rod.toml",
        ),
    ]


def poles_of_a_pure_delay() -> list[Claim]:
    """Lines of Fig. 11."""
    tracks = study.tracks(round(figures.LONGEST / study.STEP))
    first, second, added = figures.three_tracks(tracks)
    early, limit = 6, tracks.first_unstable
    damping = 100 * tracks.damping
    at_limit = tracks.frequency_hz[limit, added]
    return [
        Claim(
            PAPER,
            "Fig. 11",
            "damping of the delay's pole at small delays",
            "about 20 %",
            f"{damping[early, added]:.0f} % at 6 ms, {damping[14, added]:.0f} % at 14 ms",
            near(damping[early, added], 20, 5) and near(damping[14, added], 20, 5),
            "",
            "images/figure_11_poles.png",
        ),
        Claim(
            PAPER,
            "Fig. 11",
            "which pole becomes unstable, and where",
            "the delay's, at the critical crossover",
            f"the delay's, at {at_limit:.2f} Hz",
            bool(damping[limit, added] < 0 < min(damping[limit, [first, second]])) and near(at_limit, 14.785, 0.1),
            "",
            "images/figure_11_poles.png",
        ),
        Claim(
            PAPER,
            "Fig. 11",
            "damping of both modes with growing delay",
            "increases",
            f"{damping[0, first]:.1f} to {damping[limit, first]:.1f} % and {damping[0, second]:.1f} to "
            f"{damping[limit, second]:.1f} %",
            bool(np.all(np.diff(damping[: limit + 1, [first, second]], axis=0) > 0)),
            "",
            "images/figure_11_poles.png",
        ),
    ]


def quick_values() -> dict[str, str]:
    margin = delay_margin(study.open_loop(study.definition()))
    f0, ratio = oscillator.from_print()
    found = oscillator.late()
    two_rows = element_margins(oscillator.turned(study.open_loop(study.definition())))
    root = limits.fast_root(4, 1e-3)
    return {
        "critical delay": ms(margin.critical_delay),
        "oscillator": f"f₀ = {f0:.3f} Hz and μ = {ratio:.3f}",
        "largest damping at": ms(found.largest_at, 0),
        "oscillator limit": ms(found.limit, 1),
        "half a period": ms(0.5 / oscillator.AT_LIMIT, 1),
        "element by element": ms(two_rows.least),
        "share of a step": f"{limits.share_of_a_short_step():.3f}",
        "share by margins": f"{limits.share_of_a_step(1e-3):.3f}",
        "code bears": ms(limits.borne_by_the_code(2, 1e-3)),
        "four modes, root": f"{root.real:.1f} 1/s",
        "four modes, code": ms(limits.borne_by_the_code(4, 1e-3)),
    }


# --- what takes longer: the table and its records ---------------------------------------------------------------------


@cache
def decays() -> list[study.Decay]:
    return study.decays()


def of_the_table() -> list[Claim]:
    """Fig. 8."""
    found = study.compensation()
    delays = found.delays()
    initial, tuned, left = (np.abs(part.between(0.5, study.BAND).response) for part in parts_of(found))
    return [
        Claim(
            PAPER,
            "Fig. 8",
            "amplitude up to 30 Hz: initial, tuned, compensated",
            "drops; represented well; slightly better",
            f"falls to {initial.min():.2f}; {tuned.min():.2f} to {tuned.max():.2f}; {left.min():.2f} to {left.max():.2f}",
            bool(initial.min() < 0.7 and max(np.abs(part - 1).max() for part in (tuned, left)) < 0.05),
            "the table's valves and oil columns are ours; as flat compensated as tuned, not flatter",
            "images/figure_8_table.png",
        ),
        Claim(
            PAPER,
            "Sec. 4",
            "delay that is left",
            "about 6 ms",
            ms(delays[2], 1),
            near(1e3 * delays[2], 6, 0.5),
            f"from {ms(delays[0], 1)} and {ms(delays[1], 1)}; 2 ms of it are our choice",
            "images/figure_8_table.png",
        ),
    ]


def parts_of(found: study.Compensation) -> tuple[Estimate, ...]:
    return found.initial, found.tuned, found.compensated


def of_records() -> list[Claim]:
    """Marks of Fig. 11, and Fig. 12."""
    off = {name: [] for name in ("first", "second")}
    for one in decays():
        near_ones = figures.attributed(one.found, figures.three(one))
        for place, name in enumerate(off):
            k, pole = near_ones[place], one.computed[place]
            if k is not None and one.found is not None:
                off[name].append(abs(one.found.damping[k] / (-pole.real / abs(pole)) - 1))
    first, second = (100 * max(values) for values in off.values())
    below, above = study.decay(28e-3, 3), study.decay(29e-3, 3)
    rates = []
    for one in (below, above):
        k = figures.attributed(one.found, figures.three(one))[2]
        assert k is not None and one.found is not None
        rates.append((one.found.frequency_hz[k], 100 * one.found.damping[k]))
    told = [f"{hz:.2f} Hz, {ratio:.2f} %".replace("-", "−") for hz, ratio in rates]
    return [
        Claim(
            PAPER,
            "Fig. 11",
            "identified damping against computed: mode 1, mode 2",
            "quite well; not very well",
            f"off by at most {first:.0f} %; {second:.0f} % of itself",
            bool(first < 5.0 < second),
            "by LSCE, over all delays at which a mode is found",
            "images/figure_11_poles.png",
        ),
        Claim(
            PAPER,
            "Fig. 12",
            "free motion below and above the limit",
            "a fast part hardly decays; grows exponentially at the critical crossover",
            f"{ms(below.total_delay, 1)}: {told[0]}; {ms(above.total_delay, 1)}: {told[1]}",
            bool(rates[0][1] > 0 > rates[1][1]) and all(near(hz, 14.785, 0.2) for hz, _ in rates),
            "",
            "images/figure_12_histories.png",
        ),
    ]


def axis_table() -> list[str]:
    found = study.compensation()
    gains = found.controller
    names = (
        "proportional gain 50 1/s",
        f"tuned: {gains.proportional:g} 1/s, derivative {gains.derivative:g}",
        "behind the inverse",
    )
    rows = []
    for name, part, delay in zip(names, parts_of(found), found.delays(), strict=True):
        size = np.abs(part.between(0.5, study.BAND).response)
        flat = f"falls to {size.min():.2f}" if size.min() < 0.9 else f"{size.min():.2f} … {size.max():.2f}"
        rows.append([name, flat, ms(delay, 1)])
    return table(["", "amplitude up to 30 Hz", "delay that the phase shows"], rows)


def limit_table() -> list[str]:
    """What the loop bears, by every way."""
    steps = (*limits.STEPS[:2], 0.25e-3, limits.STEPS[2])
    rows = []
    for count, begin in ((2, 33.5e-3), (3, 16e-3), (4, 0.0)):
        model = study.open_loop(limits.with_modes(count))
        margin = delay_margin(model)
        register = [f"{1e3 * limits.shortest_unstable(count, step, begin):.4g}" for step in steps]
        code = [f"{1e3 * limits.borne_by_the_code(count, step):.2f}" for step in steps]
        exact = ms(margin.critical_delay) if margin.critical_delay else "none, however short"
        rows.append(
            [
                f"{count}",
                f"{margin.high_frequency_gain:.3f}",
                exact,
                ", ".join(register) + " ms",
                ", ".join(code) + " ms",
            ]
        )
    told = ", ".join(f"{1e3 * step:g}" for step in steps)
    head = [
        "modes of the rod",
        "loop gain at high frequency",
        "pure delay borne, continuous",
        f"shortest unstable one, force held over steps of {told} ms",
        "borne by the code that runs, same steps",
    ]
    return table(head, rows)


def damping_off(delay: float, which: int, response: bool) -> str:
    """By how much of itself the damping of a pole is off at a delay [s], from the response or from the decay."""
    (one,) = (one for one in decays() if abs(one.total_delay - delay) < 0.3e-3)
    found, pole = one.from_response if response else one.found, figures.three(one)[which]
    k = figures.attributed(found, figures.three(one))[which]
    assert found is not None and k is not None
    return f"{100 * abs(found.damping[k] / (-pole.real / abs(pole)) - 1):.0f} %"


def slow_values() -> dict[str, str]:
    table_loop = margin_of(study.definition())
    whole = study.facility_delay() + table_loop.critical_delay

    def errors(changes: dict[str, object]) -> list[str]:
        return [f"{100 * one:.0f} %" for one in study.errors(study.definition(changes))]

    late = {
        hold: {"coupling": {"kind": "none"}, "rig": {"actuator": {"delay": hold}, "specimen": {"mass": study.MASS}}}
        for hold in (6e-3, 1e-3)
    }
    own = errors({})
    ahead = study.definition().coupling.model_copy(update={"prediction": np.array([6e-3]), "order": 4, "points": 5})
    predicted = linearised(study.definition().model_copy(update={"coupling": ahead}))
    three, four = (linearised(limits.with_modes(count)) for count in (3, 4))
    grows = four.continuous[np.argmax(four.continuous.real)]
    assert three.spectral_radius < 1 < min(predicted.spectral_radius, four.spectral_radius)
    more = margin_of(limits.with_modes(3))
    return {
        "table's delay": ms(study.facility_delay(), 1),
        "limit with the table": ms(whole, 1),
        "further delay": ms(table_loop.critical_delay, 1),
        "synchronisation": own[0],
        "fidelity": own[1],
        "fidelity with 6 ms": errors(late[6e-3])[1],
        "fidelity with 1 ms": errors(late[1e-3])[1],
        "radius with prediction": f"{predicted.spectral_radius:.3f}",
        "three modes, table": f"{ms(more.critical_delay, 1)} more, gain margin {more.gain_margin_db:.3f} dB",
        "second mode at 31 ms": damping_off(31e-3, 1, response=False),
        "delay's pole at 22 ms": damping_off(22e-3, 2, response=True),
        "four modes, table": f"{abs(grows) / HZ:.0f} Hz as exp({grows.real:.0f} t/s)",
    }


def make(images: Path, quick: bool) -> Numbers:
    claims = [*pictures_of_parts(), *oscillators(), *rod(), *loop(), *poles_of_a_pure_delay()]
    if quick:
        return Numbers(claims, {}, quick_values())
    figures.draw(images, decays())
    head = ["whole delay", *(f"{mode}, {how}" for mode in figures.NAMES for how in ("LSCE", "LSCF", "computed"))]
    tables = {
        "table": axis_table(),
        "limits": limit_table(),
        "poles": [*table(head, []), *figures.rows(decays())],
    }
    return Numbers([*claims, *of_the_table(), *of_records()], tables, {**quick_values(), **slow_values()})
