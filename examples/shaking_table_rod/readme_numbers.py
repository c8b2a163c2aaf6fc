"""Numbers and pictures of this README: see gallery.py."""

from __future__ import annotations

from pathlib import Path

import figures
import limits
import numpy as np
import oscillator
import readme_records
import study
from gallery import Claim, Numbers, table
from readme_records import PAPER, ms, near

from halfreal.rigs import MAVIS
from halfreal.stability import delay_margin, element_margins

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
    tenfold = "misprint: ten times that; a loop of a mass on an oscillator tolerates over half a period, for any data"
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
    kept = [abs(pole) / (2 * np.pi) for pole in study.coupled_poles()]
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
            f"the rod at 45° to x and y: {ms(two_rows.least)}, where {ms(two_rows.exact)} are tolerated",
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


def make(images: Path, quick: bool) -> Numbers:
    claims = [*pictures_of_parts(), *oscillators(), *rod(), *loop(), *poles_of_a_pure_delay()]
    if quick:
        return Numbers(claims, {}, quick_values())
    figures.draw(images, readme_records.decays())
    head = ["whole delay", *(f"{mode}, {how}" for mode in figures.NAMES for how in ("LSCE", "LSCF", "computed"))]
    tables = {
        "table": readme_records.axis_table(),
        "limits": readme_records.limit_table(),
        "poles": [*table(head, []), *figures.rows(readme_records.decays())],
    }
    return Numbers(
        [*claims, *readme_records.of_the_table(), *readme_records.of_records()],
        tables,
        {**quick_values(), **readme_records.slow_values()},
    )
