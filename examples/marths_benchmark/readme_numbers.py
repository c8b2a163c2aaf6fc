"""Numbers of the README on the multi-axial benchmark (see ``gallery.py``).

The problem's records do not belong to this project.  Where they are in ``shared/data/ground_motions`` of a folder above
it, their tables are computed; elsewhere what is stored stays.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import choose
import numpy as np
import plain_loop
from gallery import GALLERY, Claim, Numbers, stored, table

from halfreal import Definition
from halfreal.benchmark import Motion, Score, page, read_motions, scorecard, with_motion
from halfreal.kernels import Loop
from halfreal.marths import problem as marths
from halfreal.marths import published

FOLDERS = [above / "shared" / "data" / "ground_motions" for above in GALLERY.parents]
RECORDS = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
NAMES, RECOMPUTED, RODEAC = marths.NAMES, published.RECOMPUTED, published.RODEAC
KNOWN = tuple(RECOMPUTED)
SHOWN = ("J2 a1", "J2 a2", "J3 a1", "J3 a2", "J5 x", "J5 rz", "J6 x", "J6 rz", "J7 x", "J7 rz", "J8 x 2", "J8 rz 2")
WORST = ("J2 a1", "J2 a2", "J5 x", "J5 rz", "J7 x", "J7 rz")
PLANTS, SEEDS = 20, 8
NOISE = 12.39354e-6
"""Of a stroke [m]."""
HEAD = ["motion", "", *SHOWN, "largest force"]


def make(images: Path, quick: bool) -> Numbers:
    some = (RODEAC, marths.CHOSEN) if quick else tuple(marths.couplings())
    synthetic = marths.motions()
    if quick:  # the same run, for the time that tests have
        return Numbers(values=of_short(synthetic["synthetic"]))
    values = of_short(synthetic["synthetic"]) | of_choice()
    tables = {"synthetic": table(HEAD, rows(scorecard(marths.PROBLEM, synthetic, only(some))))}
    if not RECORDS.is_dir():
        kept = stored("marths_benchmark")
        return Numbers(kept.claims, {**kept.tables, **tables}, {**kept.values, **values})
    with tempfile.TemporaryDirectory() as folder:
        read = read_motions(RECORDS, Path(folder))
        moved = {name: read[name] for name in KNOWN}
        scores = scorecard(marths.PROBLEM, moved, only(some), plants=PLANTS)
        tables |= {"records": table(HEAD, rows(scores)), "perturbed": perturbed(scores), "quiet": quiet(moved)}
        claims, strokes = of_rodeac(moved), of_strokes(moved)
    page.couplings(marths.PROBLEM, scores).savefig(images / "couplings.png", dpi=110)
    return Numbers(claims, tables, {**values, **of_limits(scores), **strokes})


def only(names: tuple[str, ...]) -> dict[str, marths.Entry]:
    return {name: entry for name, entry in marths.couplings().items() if name in names}


def value(criteria: np.ndarray, name: str) -> float:
    return float(criteria[NAMES.index(name)])


def rows(scores: list[Score]) -> list[list[str]]:
    """Nominal actuators: bounds, couplings, and what is known of them."""
    found: list[list[str]] = []
    for one in (one for one in scores if one.plant == 0):
        force = f"{1e-3 * one.largest_force:.1f} kN" if np.isfinite(one.largest_force) else ""
        found.append([one.motion, one.coupling, *(f"{value(one.criteria, name):.2f}" for name in SHOWN), force])
        if not one.stable:
            found[-1][2:] = ["unstable", *[""] * (len(SHOWN) - 1), force]
        for source, known in marths.PROBLEM.published(one.case, one.motion, one.coupling).items():
            found.append(["", source, *(f"{value(np.array(known), name):.1f}" for name in SHOWN), ""])
    return found


def perturbed(scores: list[Score]) -> list[str]:
    """The worst of all perturbed actuators."""
    found = []
    for motion in KNOWN:
        for name in marths.couplings():
            of = [one for one in scores if (one.motion, one.coupling) == (motion, name) and one.plant]
            stable = [one.criteria for one in of if one.stable]
            worst = [f"{max(value(one, key) for one in stable):.2f}" if stable else "" for key in WORST]
            found.append([motion, name, f"{len(of) - len(stable)} of {len(of)}", *worst])
    return table(["motion", "", "unstable", *WORST], found)


def quiet(moved: dict[str, Motion]) -> list[str]:
    """RoDeAC and the coupling chosen without noise."""
    found = []
    for motion, at in moved.items():
        bare = with_motion(marths.case(), at)
        whole = marths.reference(bare)
        for name, entry in only((RODEAC, marths.CHOSEN)).items():
            _, criteria, _ = marths.scored(marths.without_noise(marths.put(bare, entry)), whole)
            found.append([motion, name, *(f"{value(criteria, key):.2f}" for key in SHOWN)])
    return table(["motion", "", *SHOWN], found)


def of_short(motion: Motion) -> dict[str, str]:
    """Four seconds of the shipped record without noise: what the test suite computes again."""
    bare = with_motion(marths.case(), Motion(motion.excitation, 4.0))
    whole = marths.reference(bare)
    values = {}
    for key, entry in zip(("short_rodeac", "short_chosen"), only((RODEAC, marths.CHOSEN)).values(), strict=True):
        _, criteria, _ = marths.scored(marths.without_noise(marths.put(bare, entry)), whole)
        values[key] = f"{value(criteria, 'J2 a1'):.2f} / {value(criteria, 'J2 a2'):.2f} %"
    return values


def of_choice() -> dict[str, str]:
    """What ``choose.py`` finds, which must be what ``adaptive_inverse.toml`` has."""
    ranked = choose.choose(print)
    error, _, values, filters = ranked[0]
    if written(choose.entry(values, *filters)) != written(marths.couplings()[marths.CHOSEN]):
        raise SystemExit(f"adaptive_inverse.toml has other numbers than choose.py finds: {filters}, {values}")
    return {"choice_error": f"{error:.2f}", "choice_tried": str(choose.FIRST + choose.ROUNDS * choose.NEXT)}


def written(entry: marths.Entry) -> tuple[str, str]:
    """A coupling and its estimator as text."""
    assert entry.estimator is not None
    return entry.coupling.model_dump_json(), entry.estimator.model_dump_json()


def of_limits(scores: list[Score]) -> dict[str, str]:
    """What the noise makes at least, what the coupling chosen has, under El Centro."""
    of = {one.coupling: one for one in scores if one.motion == "El Centro" and one.plant == 0}
    noisy, chosen = of["perfect rig, noisy sensors"].criteria, of[marths.CHOSEN].criteria
    pairs = {"J2": ("J2 a1", "J2 a2"), "J5": ("J5 x", "J5 rz")}
    values = {}
    for key, names in pairs.items():
        for word, criteria in (("floor", noisy), ("chosen", chosen)):
            values[f"{word}_{key}"] = " / ".join(f"{value(criteria, name):.2f}" for name in names) + " %"
    unstable = [sum(not one.stable for one in scores if one.plant and one.coupling == marths.CHOSEN)]
    every = [one for one in scores if one.plant and one.coupling == marths.CHOSEN]
    forces = {
        coupling: [one.largest_force for one in scores if one.coupling == coupling and one.plant == 0]
        for coupling in (marths.CHOSEN, "perfect rig")
    }
    each = ", ".join(f"{1e-3 * found:.1f} kN" for found in forces["perfect rig"])
    spans = {name: f"{1e-3 * min(found):.1f} to {1e-3 * max(found):.1f} kN" for name, found in forces.items()}
    intensity = 40.0 * marths.FORCE_LIMIT / max(forces["perfect rig"])
    return {
        **values,
        "unstable": f"{unstable[0]} of {len(every)}",
        "forces": spans[marths.CHOSEN],
        "perfect_forces": each,
        "force_limit": f"{1e-3 * marths.FORCE_LIMIT:.1f} kN",
        "intensity": f"{intensity:.0f} %",
    }


def of_strokes(moved: dict[str, Motion]) -> dict[str, str]:
    """The largest command of the coupling chosen."""
    largest = []
    for at in moved.values():
        test = marths.put(with_motion(marths.case(), at), marths.couplings()[marths.CHOSEN])
        log = marths.build(test).run(test.timing.ticks, record=("command.a1", "command.a2")).log
        largest.append(float(np.abs(log[:, 1:]).max()))
    return {"strokes": f"{1e3 * max(largest):.1f} mm"}


def of_rodeac(moved: dict[str, Motion]) -> list[Claim]:
    """Each criterion of RoDeAC that was recomputed: by a plain loop as it was done there, and by the model itself."""
    claims = []
    for motion, at in moved.items():
        bare = with_motion(marths.case(), at)
        whole = marths.reference(bare)
        ticks = bare.timing.ticks
        noise = NOISE * np.random.default_rng(0).standard_normal((ticks, 2))
        log = plain_loop.rodeac(bare, ground(bare), noise, force_late=True, former_filter=True)
        same = marths.against(bare, log, whole)
        draws = [marths.scored(marths.with_seed(bare, seed), whole)[1] for seed in range(1, SEEDS + 1)]
        for key in ("J2", "J3", "J5", "J6", "J7", "J8"):
            of, known = [i for i, name in enumerate(NAMES) if name.split()[0] == key], RECOMPUTED[motion][key]
            # half a unit of the last digit that is printed, and 0.005 for what a different arithmetic makes of it
            units = np.array([1.0 if isinstance(one, int) else 0.1 for one in known])
            agrees = bool(np.all(np.abs(np.array(known) - same[of]) <= 0.5 * units + 0.005))
            by_plain, by_model = (" / ".join(f"{one:.2f}" for one in v[of]) for v in (same, np.mean(draws, axis=0)))
            printed, here = " / ".join(map(str, known)), f"{by_plain}; published model {by_model}"
            why = "" if agrees else "not known"
            claims.append(Claim("multi-axial", f"recomputed, {motion}", f"{key} [%]", printed, here, agrees, why))
    return claims


def ground(definition: Definition) -> np.ndarray:
    """Ground acceleration at every tick [m/s²]."""
    driven = definition.excitation.virtual
    assert driven is not None
    loop = Loop([driven.block("excitation.virtual")], dt=definition.timing.step)
    return loop.run(definition.timing.ticks, record=("excitation.virtual",)).log[:, 1]
