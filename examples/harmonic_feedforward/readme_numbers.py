"""What the README tells of the lumped example, and the paper's sections 2 and 3 claim by claim (see ``gallery.py``)."""

from __future__ import annotations

from pathlib import Path

import figures
import misprints
import numpy as np
import study
from gallery import Claim, Numbers, table

import halfreal
import stability
from halfreal.couplings import gap_response, largest_stable_gain, tolerated_phase
from halfreal.stability import closed_loop, growth

PAPER = "feed-forward"
DRAWS = len(study.SEEDS)
UNCOUPLED = 1.3381e-3
"""|g_ext| at 8 Hz: the gap if nothing is driven [m]."""


def make(images: Path, quick: bool) -> Numbers:
    claims = [*of_the_model(), *of_responses(), *of_poles(), *of_estimates(), *of_the_print()]
    values = {"maps": maps(), "slowest": f"{slowest():.1e}"}
    if quick:
        return Numbers(claims, {}, values)
    figures.main(images)
    stability.main(images)
    return Numbers(
        [*claims, *of_tones(), *of_learning(), *of_starts()],
        {"settling": settling(), "guards": guards(), "steps": steps()},
        {**values, **of_runs(), **of_draws()},
    )


def claim(at: str, what: str, printed: str, here: str, agrees: bool | None, why: str = "", file: str = "") -> Claim:
    return Claim(PAPER, at, what, printed, here, agrees, why, file)


# --- sections 2 and 3.1 -----------------------------------------------------------------------------------------------


def of_the_model() -> list[Claim]:
    drawing = "a drawing"
    test = halfreal.load(study.HERE / "lms.toml")
    parts = (test.rig.specimen, test.rig.transfer)
    virtual = tuple(float(np.squeeze(getattr(test.virtual, name))) for name in ("mass", "damping", "stiffness"))
    rest = [
        tuple(float(np.squeeze(getattr(part, name))) for name in ("mass", "damping", "stiffness")) for part in parts
    ]
    printed = [(0.1, 0.05, 1000.0), (0.01, 0.05, 1000.0), (0.1, 1.0, 100.0)]
    told = "; ".join(f"{m:g} kg, {d:g} N s/m, {k:g} N/m" for m, d, k in [virtual, *rest])
    due = "; ".join(f"{m:g} kg, {d:g} N s/m, {k:g} N/m" for m, d, k in printed)
    exact = [virtual, *rest] == printed
    return [
        claim("Fig. 1", "lumped-mass system", "", "", None, drawing),
        claim("Tab. 1", "virtual, experimental component and actuator", due, told, exact, file="lms.toml"),
        claim("Fig. 2", "parallel structure of a hybrid test", "", "", None, drawing),
        claim("Fig. 3", "block diagram of the adaption by LMS", "", "", None, drawing),
        claim("Fig. 4", "block diagram of the identification", "", "", None, drawing),
        claim("Fig. 10", "block diagram of the adaption by RLS", "", "", None, drawing),
    ]


def slowest() -> float:
    """Rate [1/s] of the slowest part of LMS with ten tones and μ_c = 1 1/s."""
    return -float(growth(closed_loop(stability.plant(), stability.filtered(study.TEN)).a, None))


def of_responses() -> list[Claim]:
    """Figs. 5 and 6, from the closed loop in continuous time."""
    ten, between = study.TEN, np.arange(2.5, 55.0, 5.0)
    closed = closed_loop(stability.plant(), stability.filtered(ten))
    coupled = stability.response(closed, ten) / stability.structures(ten)[0]
    apart = np.abs(stability.response(closed, between) / stability.structures(between)[1] - 1).max()
    size, phase = np.abs(np.abs(coupled) - 1).max(), np.degrees(np.abs(np.angle(coupled))).max()
    systems = {name: stability.good_up_to(system) for name, system in stability.controllers().items()}
    integral, full = systems["integrator (PID)"], systems["LQR, all states"]
    return [
        claim(
            "Fig. 5",
            "closed loop at 5, 10, …, 50 Hz against the reference",
            "sizes and phases match exactly",
            f"size to {'1e-6 or better' if size < 1e-6 else f'{size:.0e}'}, "
            f"phase to {'1e-4° or better' if phase < 1e-4 else f'{phase:.0e}°'}",
            bool(size < 1e-6 and phase < 1e-4),
            f"in steady state: with one gain for all tones the slowest part decays as exp(−{slowest():.1e} t/s)",
            "images/figure_5.png",
        ),
        claim(
            "Fig. 5",
            "closed loop between the tones against the virtual component",
            "stays on its curve",
            f"within {100 * apart:.2f} %",
            bool(apart < 0.02),
            file="images/figure_5.png",
        ),
        claim(
            "Fig. 6",
            "PID: a pure integral gain, right at low frequencies only",
            "below 1 Hz",
            f"to 10 % below {integral:.3f} Hz",
            bool(0.5 < integral < 2.0),
            "the tuning is not printed; an integral gain that is stable reaches no further, as the resonance at "
            "16 Hz bounds it",
            "images/figure_6.png",
        ),
        claim(
            "Fig. 6",
            "LQR: closer to the reference in a broad range",
            "far closer than the PID",
            f"to 10 % up to {full:.1f} Hz",
            bool(full > 10 * integral),
            file="images/figure_6.png",
        ),
    ]


def masses(poles: list[np.ndarray]) -> str:
    found = stability.unstable(poles)
    return f"unstable for {found[0]} to {found[-1]} g" if found else "stable for all"


def of_poles() -> list[Claim]:
    """Figs. 7 and 8."""
    regulated = stability.regulated_poles()
    full, observed = regulated["LQR, all states fed back"], regulated["LQG, from the gap"]
    listed = ", ".join(f"{hz}: {masses(poles)}" for hz, poles in stability.filtered_poles().items())
    return [
        claim(
            "Fig. 7",
            "LQR tuned at 10 g, specimen of 1 to 30 g",
            "poles in the right half plane",
            f"all states fed back: {masses(full)}; from the gap with an observer: {masses(observed)}",
            bool(stability.unstable(observed)),
            "holds for output feedback; the tuning is not printed, and both are drawn",
            "images/figure_7.png",
        ),
        claim(
            "Fig. 8",
            "adaptive filter identified at 10 g, specimen of 1 to 30 g",
            "poles drawn, frequency and gain not printed",
            listed,
            None,
            "no number to compare",
            "images/figure_8.png",
        ),
    ]


def of_estimates() -> list[Claim]:
    """Fig. 9, in continuous time."""
    plant = stability.plant()
    limits, small = {}, []
    for hz in (8.0, 16.0, 21.0):
        h = gap_response(plant, hz)
        limits[hz] = largest_stable_gain(plant, h, hz)
        small += [abs(one) for one in tolerated_phase(plant, h, hz, 1e-4 * limits[hz])]
    low, high = tolerated_phase(plant, gap_response(plant, 16.0), 16.0, 1.0)
    stable = all(limit > 1.0 for limit in limits.values())
    return [
        claim(
            "Fig. 9",
            "the true H lies within the stable region, μ = 1",
            "at 8, 16 and 21 Hz",
            "largest stable μ_c " + ", ".join(f"{limit:.4g}" for limit in limits.values()) + " 1/s",
            stable,
            file="images/figure_9.png",
        ),
        claim(
            "Fig. 9",
            "phase error of the estimate that a small gain tolerates",
            "up to 90°",
            f"{min(small):.1f}° to {max(small):.1f}°",
            bool(max(abs(one - 90.0) for one in small) < 0.05),
            file="images/figure_9.png",
        ),
        claim(
            "Fig. 9",
            "at 16 Hz the stable region shrinks",
            "shown, no number",
            f"{low:.1f}° to +{high:.1f}° at μ_c = 1 1/s".replace("-", "−"),
            bool(high - low < 170.0),
            file="images/figure_9.png",
        ),
    ]


def maps() -> str:
    """How well the maps of Fig. 9 on paper agree with the code that runs."""
    plant = stability.sampled_plant()
    worst = 0.0
    for hz in (8.0, 16.0, 21.0):
        true = complex(gap_response(plant, hz)[0, 0, 0])
        for factor in (1.0, -1.0, 2j):
            x, y = np.array([(factor * true).real]), np.array([(factor * true).imag])
            on_paper = float(stability.stability_map(plant, hz, stability.STEP, x, y)[0, 0])
            worst = max(worst, abs(stability.running_growth(hz, stability.STEP, factor * true) - on_paper))
    return f"{'1e-10' if worst < 1e-10 else f'{worst:.0e}'} 1/s"


def of_the_print() -> list[Claim]:
    return [
        claim(
            one.at,
            one.what,
            one.printed,
            f"{one.meant}; as printed: {one.found}",
            one.holds,
            "misprint",
            "misprints.py",
        )
        for one in misprints.all_of_them()
    ]


# --- runs -------------------------------------------------------------------------------------------------------------


def of_tones() -> list[Claim]:
    found = study.ten_tones()
    coupled = stability.structures(study.TEN)[0]
    error = np.abs(found.response / coupled - 1)
    return [
        claim(
            "Sec. 3.1.4",
            "ten tones at once, in time",
            "coupled at all ten",
            f"RLS: a gap of {found.gap[-1]:.0e} m after 200 s, "
            f"y_v/f to {100 * error.min():.2f} to {100 * error.max():.1f} %; "
            f"LMS, μ_c = 1 1/s: {1e3 * study.ten_tones('LMS, μ_c = 1 1/s').gap[-1]:.1f} mm",
            bool(found.gap[-1] < 1e-7 and error.max() < 0.05),
            "what is left of y_v/f is integration at 1 ms; LMS with one gain for all tones is too slow, see Fig. 5",
            "images/figure_5_in_time.png",
        )
    ]


def of_starts() -> list[Claim]:
    """Sections 3.1.3 and 3.3."""

    def at_5(envelope: np.ndarray) -> str:
        return f"{1e3 * envelope[round(5.0 / study.WINDOW) - 1]:.1f} mm"

    none, model = study.started("RLS", "none"), study.started("RLS", "model")
    twin, identified = none[-1], study.started("RLS", "none", "identified")[-1]
    specimen = study.specimen_excited()[-1]
    seconds = round(5.0 / study.WINDOW) - 1
    return [
        claim(
            "Sec. 3.1.3",
            "θ started from a model",
            "accelerates the adaption",
            f"RLS: a gap of {at_5(none)} after 5 s from nothing, {at_5(model)} from the model's drive",
            bool(model[seconds] < none[seconds]),
            "later it is the ringing of the virtual oscillator that counts",
            "images/starts.png",
        ),
        claim(
            "Sec. 3.3",
            "g_ext identified instead of a twin",
            "possible",
            f"gap after 60 s: {'below 1e-9 m' if identified < 1e-9 else f'{identified:.0e} m'} identified, "
            f"{twin:.0e} m with a twin; specimen excited: {'below 1e-9 m' if specimen < 1e-9 else f'{specimen:.0e} m'}",
            bool(identified < 1e-4 and specimen < 1e-4),
            file="specimen_excited.toml",
        ),
    ]


def of_learning() -> list[Claim]:
    """Figs. 11 and 12 over 16 draws; four gains each."""
    lms = [study.of_strategy("LMS", f"μ = {mu:g}", 100.0) for mu in study.GAINS]
    sequential = [study.of_strategy("RLS, sequential", f"μ = {mu:g}", 100.0) for mu in study.FACTORS]
    at_once = {mu: study.of_strategy("RLS, simultaneous", f"μ = {mu:g}", 100.0) for mu in study.FACTORS}
    short_lms = [study.of_strategy("LMS", f"μ = {mu:g}", 0.01) for mu in study.GAINS]
    short = study.of_strategy("RLS, sequential", "μ = 0.999", 0.01)
    chosen = study.of_strategy("RLS, simultaneous", study.CHOSEN, 100.0)
    unstable = [one.unstable for one in lms]
    rest = [float(np.median(one.at(60.0))) for one in sequential]
    left = np.array([one.at(60.0) for one in sequential])
    printed_5 = {mu: study.of_guards(0.01, mu, True, 5e-3) for mu in (0.9, 0.98, 0.99, 0.999, 0.9999)}
    here_1 = {mu: study.of_guards(0.01, mu, True) for mu in (0.9, 0.98, 0.99, 0.999, 0.9999)}
    converge = [printed_5[mu].never == 0 for mu in (0.9, 0.98, 0.99)]
    fail = [printed_5[mu].never > 0 for mu in (0.999, 0.9999)]
    eleven, twelve = "images/figure_11_learning_curves.png", "images/figure_12_short_identification.png"
    return [
        claim(
            "Fig. 11",
            "LMS, identified for 100 s, four gains",
            "unstable for one",
            "unstable in " + ", ".join(f"{count}" for count in unstable) + f" of {DRAWS} draws with μ = 1, 10, 30, 100",
            bool(sum(count > 0 for count in unstable) == 1),
            file=eleven,
        ),
        claim(
            "Fig. 11",
            "sequential RLS, four factors",
            "converges for all; to zero only if identified properly",
            "median of what is left after 60 s: " + ", ".join(f"{1e3 * one:.2f}" for one in rest) + " mm",
            bool(np.all(left < 2 * UNCOUPLED) and min(rest) > study.LEVEL),
            file=eleven,
        ),
        claim(
            "Fig. 11",
            "simultaneous RLS converges",
            "in less than 20 s",
            "gap below 0.1 mm after "
            + ", ".join(f"{np.median(at_once[mu].settled):.0f} s" for mu in (0.99, 0.999))
            + f" (0.99, 0.999), chosen memories {np.median(chosen.settled):.0f} s",
            bool(max(np.median(at_once[mu].settled) for mu in (0.99, 0.999)) < 20.0),
            "a little longer with these factors, until the gap is below a level that is ours; sooner with chosen "
            "memories",
            eleven,
        ),
        claim(
            "Fig. 11",
            "simultaneous RLS, most aggressive factor",
            "does not converge, and stays stable",
            f"0.9: {at_once[0.9].never} of {DRAWS} do not settle, {at_once[0.9].unstable} unstable",
            bool(at_once[0.9].never == DRAWS and at_once[0.9].unstable == 0),
            file=eleven,
        ),
        claim(
            "Fig. 12",
            "LMS, identified for 0.01 s",
            "unstable for all four gains",
            f"{sum(one.unstable for one in short_lms)} of {4 * DRAWS} draws unstable, and in none the gap closes",
            bool(all(one.unstable for one in short_lms)),
            "ten samples leave an estimate so small that hardly anything is driven: what goes wrong is slower than "
            "60 s; normalised gains, which make up for the size, are unstable in "
            f"{study.of_strategy('LMS', study.CHOSEN, 0.01).unstable} of {DRAWS} draws",
            twelve,
        ),
        claim(
            "Fig. 12",
            "sequential RLS, identified for 0.01 s",
            "converges to an error",
            f"median {1e3 * np.median(short.at(60.0)):.0f} mm, more than without coupling",
            bool(np.median(short.at(60.0)) > study.LEVEL and short.unstable == 0),
            file=twelve,
        ),
        claim(
            "Fig. 12",
            "simultaneous RLS, identified for 0.01 s",
            "stable; synchronised for μ ≤ 1 − 10⁻²",
            "Alg. 4 as printed, steps of 5 ms: not settled in "
            + ", ".join(str(one.never) for one in printed_5.values())
            + f" of {DRAWS} draws with μ = 0.9, 0.98, 0.99, 0.999, 0.9999",
            bool(all(converge) and all(fail)),
            "the step is not printed; what counts is Δt/(1 − μ), and at 1 ms it is "
            + ", ".join(str(one.never) for one in here_1.values()),
            "study.py",
        ),
    ]


# --- tables and numbers of the text -----------------------------------------------------------------------------------


def settling() -> list[str]:
    rows = []
    for strategy in study.strategies(100.0):
        for identification in (100.0, 0.01):
            labels = study.strategies(identification)[strategy]
            cells = [
                f"{label.removeprefix('μ = ')}: {study.of_strategy(strategy, label, identification)}"
                for label in labels
                if label != study.CHOSEN
            ]
            best = str(study.of_strategy(strategy, study.CHOSEN, identification))
            rows.append([f"{strategy}, {identification:g} s", *cells, best])
    return table(["identified for", "four gains μ", "", "", "", "chosen"], rows)


FACTORS = (0.98, 0.99, 0.999, 0.9999, None)


def guards() -> list[str]:
    rows = [
        [f"{identification:g} s", "chosen" if mu is None else f"{mu:g}"]
        + [str(study.of_guards(identification, mu, as_printed)) for as_printed in (True, False)]
        for identification in (100.0, 0.01)
        for mu in FACTORS
    ]
    return table(["identified for", "μ", "Alg. 4 as printed", "with both guards"], rows)


def steps() -> list[str]:
    factors = (0.8, 0.9, 0.98, 0.99, 0.999, 0.9999)
    rows = [
        [f"{1e3 * step:g} ms, {identification:g} s"]
        + [str(study.of_guards(identification, mu, True, step)) for mu in factors]
        for step in (1e-3, 5e-3)
        for identification in (100.0, 0.01)
    ]
    return table(["step, identified for", *(f"μ = {mu:g}" for mu in factors)], rows)


def of_runs() -> dict[str, str]:
    """Gaps at the end of rehearsals, as ``halfreal check`` tells them."""
    found = {}
    for name in ("lms", "rls_sequential", "rls_simultaneous", "ten_tones"):
        run = halfreal.rehearse(halfreal.load(study.HERE / f"{name}.toml"))
        left = float(np.sqrt(run.signals["coupling.nmse"].values[-1]))
        found[f"{name} gap"] = f"{100 * left:.0f} %" if left > 1e-2 else "less than 0.01 %"
    return found


def of_draws() -> dict[str, str]:
    by_hand = {
        "LMS": ("μ = 30",),
        "RLS, simultaneous": ("μ = 0.99", "μ = 0.999", "μ = 0.9999"),
    }
    told = {}
    for strategy, labels in by_hand.items():
        chosen = study.of_strategy(strategy, study.CHOSEN, 100.0).settled
        best = np.min([study.of_strategy(strategy, label, 100.0).settled for label in labels], axis=0)
        ahead = best < chosen
        told[f"ahead of {strategy}"] = f"{int(ahead.sum())} of {DRAWS}"
        told[f"ahead by, {strategy}"] = f"{float(np.max(np.where(ahead, chosen - best, 0.0))):.0f} s"
    estimate = study.estimates(lambda seed: study.strategies(0.01, seed)["LMS"][study.CHOSEN])
    angles = np.degrees(np.angle(estimate))
    told["angles"] = f"{angles.min():.0f}° to {angles.max():.0f}°".replace("-", "−")
    told["too small"] = f"{(1 / np.abs(estimate)).min():.0f} to {(1 / np.abs(estimate)).max():.0f}"
    told["diverge"] = f"{study.of_strategy('LMS', study.CHOSEN, 0.01).unstable} of {DRAWS}"
    return told
