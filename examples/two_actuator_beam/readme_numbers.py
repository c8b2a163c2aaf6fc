"""What the README tells of the beams, and the paper's sections 4 and 5 claim by claim (see ``gallery.py``)."""

from __future__ import annotations

from pathlib import Path

import figures
import modes
import numpy as np
import rig
import scipy.linalg
import scipy.optimize
import study
from gallery import Claim, Numbers, table

import halfreal

PAPER = "feed-forward"
SHOWN = figures.SHOWN
LEVELS = {60.0: 0.05, 320.0: 1e-5, 800.0: 1e-4}
"""Of the NMSE, by which laws are compared."""
TIMES = (1.0, 2.0, 5.0, 10.0)


def make(images: Path, quick: bool) -> Numbers:
    claims = [*of_drawings(), *of_the_structure(), *of_the_interface()]
    values = {**of_modes(), "floors": floors()}
    if quick:
        return Numbers(claims, {}, values)
    figures.main(images)
    return Numbers(
        [*claims, *of_synchronisation(), *of_learning(), *of_squares(), *of_plates()],
        {"errors": errors(), "nmse": nmse(), "laws": laws(), "squares": squares(), "plates": plates()},
        {**values, **of_automatic()},
    )


def claim(at: str, what: str, printed: str, here: str, agrees: bool | None, why: str = "", file: str = "") -> Claim:
    return Claim(PAPER, at, what, printed, here, agrees, why, file)


def percent(value: float) -> str:
    """Two digits."""
    return f"{100 * value:.2g} %"


def worst(found: np.ndarray, reference: np.ndarray) -> float:
    return float(np.abs(found / reference - 1).max())


# --- structure and interface ------------------------------------------------------------------------------------------


def of_drawings() -> list[Claim]:
    return [
        claim("Fig. 13", "reference system with actuator and sensors", "", "", None, "a photograph"),
        claim("Fig. 15", "dimensions", "", "", None, "a drawing, not in the copy at hand"),
        claim("Fig. 17", "test rig", "", "", None, "photographs"),
        claim("Fig. 18", "free bodies of plate and specimen", "", "", None, "a drawing"),
    ]


def of_the_structure() -> list[Claim]:
    used = {
        "E": (210e9, rig.MODULUS),
        "ρ": (7850.0, rig.DENSITY),
        "h_z": (4e-3, rig.HEIGHT),
        "h_y": (40e-3, rig.WIDTH),
        "d_ACT": (80e-3, 2 * rig.ARM),
        "h_z of the plate": (6e-3, rig.PLATE_HEIGHT),
        "h_y of the plate": (40e-3, rig.PLATE_WIDTH),
        "l of the plate": (100e-3, rig.PLATE_LENGTH),
        "l − d_i": (300e-3, rig.FREE_LENGTH),
    }
    same = [name for name, (printed, here) in used.items() if np.isclose(printed, here, rtol=1e-12)]
    without_meaning = ("l_f", "l_d", "d_P", "h_z2", "h_f")  # printed, but nothing here is known to be them
    found = modes.modes(*modes.calibrated())
    listed = ", ".join(f"{mode.hz:.0f}" for mode in found)
    unseen = [i + 1 for i, mode in enumerate(found) if mode.at_p < 1e-6]
    deflections = rig.assembled().natural_frequencies_hz()[:4]
    highest = float(np.abs(study.assembled(deflections)[:, 0]).max())
    full, small = (rig.virtual(count).system("force") for count in (None, 20))
    exact, kept = (natural_frequencies(part.mass, part.stiffness)[:10] for part in (full, small))
    error = float(np.abs(kept / exact - 1).max())
    return [
        claim(
            "Tab. 2",
            "dimensions and material",
            "E, ρ, sections, plate, d_ACT; l, l_f, l_d, d_P, d_i, h_z2",
            "as printed: " + ", ".join(same),
            len(same) == len(used) + len(without_meaning),
            "what l_f, l_d, d_P and h_z2 measure only Fig. 15 shows, which is not at hand: positions of P and foam "
            "are chosen, the section is the same along both beams",
            "rig.py",
        ),
        claim(
            "Fig. 14",
            "resonances of the reference system at P",
            "95, 211, 319 and 520 Hz",
            ", ".join(f"{hz:.0f}" for hz in deflections) + " Hz",
            bool(np.all(np.round(deflections) == [95.0, 211.0, 319.0, 520.0])),
            "the calibration of foam, clamp and mass at B is ours, to these frequencies; sizes are not printed",
            "images/figure_14_receptances.png",
        ),
        claim(
            "Fig. 14",
            "receptance of the test rig",
            "drawn",
            f"drawn; {1e6 * highest:.0f} µm/N at the highest resonance of the reference system",
            None,
            "no number to compare",
            "images/figure_14_receptances.png",
        ),
        claim(
            "Fig. 16",
            "first six modes",
            "95, 211, 319, 368, 508, 520 Hz",
            f"{listed} Hz",
            [round(mode.hz) for mode in found] == [round(hz) for hz in modes.PRINTED],
            "modes 4 and 5 with two more numbers, see the text",
            "images/figure_16_modes.png",
        ),
        claim(
            "Fig. 16",
            "modes that P does not excite",
            "4 and 5",
            f"{unseen[0]} ({found[3].kind}) and {unseen[1]} ({found[4].kind}) do not deflect at P",
            unseen == [4, 5],
            file="modes.py",
        ),
        claim(
            "Sec. 5.1.2",
            "Craig–Bampton with 20 modes",
            "used",
            f"first ten natural frequencies of the virtual beam to {error:.0e}",
            bool(error < 1e-3),
            file="rig.py",
        ),
    ]


def natural_frequencies(mass: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """[Hz]"""
    return np.sqrt(scipy.linalg.eigvalsh(stiffness, mass)) / (2 * np.pi)


def of_the_interface() -> list[Claim]:
    system = rig.transfer_system()
    arm = rig.ARM
    due = np.array([[-1.0, 1.0], [arm, arm]])
    off = float(np.abs(system.actuators - due).max())
    ends = float(np.abs(rig.ENDS - np.array([[1.0, -arm], [1.0, arm]])).max())
    return [
        claim(
            "Eq. 31",
            "displacements at the actuators",
            "[1, −d/2; 1, d/2]",
            f"the same to {'1e-12' if ends < 1e-12 else f'{ends:.0e}'}",
            bool(ends < 1e-12),
            file="rig.py",
        ),
        claim(
            "Eq. 33",
            "forces on the plate",
            "[−1, 1; d/2, d/2]",
            f"the same to {'1e-12' if off < 1e-12 else f'{off:.0e}'}, from positions and directions",
            bool(off < 1e-12),
            file="rig.py",
        ),
    ]


def of_modes() -> dict[str, str]:
    yaw, inertia = modes.calibrated()
    lateral, torsion = modes.before_calibration()
    return {
        "yaw": f"{1e-3 * yaw:.1f} kN m/rad",
        "inertia": f"{1e6 * inertia:.1f} kg mm²",
        "lateral": f"{lateral:.0f} Hz",
        "torsion": f"{torsion:.0f} Hz",
        "heavier": f"{first_with_plate():.1f} Hz",
        "plate": f"{1e3 * rig.transfer_system().mass[0, 0]:.0f} g",
    }


def first_with_plate() -> float:
    """The first resonance at B if the plate's inertia is taken for the specimen's."""

    def size(hz: float) -> float:
        return -float(np.abs(study.emulated(hz, "continuous", with_plate=True)[0, 1]))

    return float(scipy.optimize.minimize_scalar(size, bounds=(70.0, 80.0), method="bounded").x)


# --- runs -------------------------------------------------------------------------------------------------------------


def of_synchronisation() -> list[Claim]:
    left = []
    for hz, record in figures.sines().items():
        late = record.time > record.time[-1] - 20 / hz
        sides = [
            [record.signals[f"{name}.{end}"][late] for end in study.ENDS]
            for name in ("target", "measured.displacement")
        ]
        left.append(float(np.linalg.norm(np.subtract(*sides)) / np.linalg.norm(sides[0])))
    exact = worst(figures.stepped(), study.assembled(figures.STEPPED))
    band = figures.STEPPED <= 400.0
    low = worst(figures.stepped()[band], study.emulated(figures.STEPPED[band], "exact"))
    newmark = worst(figures.stepped("newmark"), study.assembled(figures.at_frequencies("newmark")))
    return [
        claim(
            "Fig. 19",
            "both sides of the interface at 60, 320, 800 Hz",
            "a straight diagonal line",
            "gap over motion after 10 s: " + ", ".join(percent(one) for one in left),
            bool(max(left) < 0.1),
            file="images/figure_19_synchronisation.png",
        ),
        claim(
            "Fig. 20",
            "H_Pz, H_Bz, H_Bα against the reference, 30 to 1000 Hz",
            "agreement, with modelling errors and damping by cables above 400 Hz",
            f"largest difference {percent(exact)}; with the paper's Newmark at 0.2 ms {percent(newmark)}; "
            f"integration apart, up to 400 Hz, {percent(low)}",
            bool(exact < 0.2),
            "the paper's differences are of its rig (cables, moments of stingers), ours are of integration and noise",
            "images/figure_20_responses.png",
        ),
    ]


def errors() -> list[str]:
    rows = [
        [
            f"integration by Newmark's method, {1e3 * step:g} ms"
            if scheme == "newmark"
            else f"exact integration, {1e3 * step:g} ms"
        ]
        + [percent(worst(study.emulated(hz, scheme, step)[0], study.assembled(hz)[0])) for hz in SHOWN]
        for scheme in ("newmark", "exact")
        for step in (2e-4, 5e-5)
    ]
    left = [worst(record.receptances(hz), study.emulated(hz, "exact")[0]) for hz, record in figures.sines().items()]
    rows.append(["of the hybrid test, integration apart", *(percent(one) for one in left)])
    return table(["largest error of H_Pz, H_Bz, H_Bα", *(f"{hz:g} Hz" for hz in SHOWN)], rows)


def nmse() -> list[str]:
    rows = [
        [f"{hz:g} Hz"] + [f"{study.nmse_at(record, study.largest_ends(record.definition), time):.1e}" for time in TIMES]
        for hz, record in figures.sines().items()
    ]
    return table(["RLS, μ = 0.999: NMSE after", *(f"{time:g} s" for time in TIMES)], rows)


def closed_after(record: study.Record, level: float) -> float:
    """Seconds after which the learning curve stays below a level; infinite if it does not."""
    if record.tripped:
        return np.inf
    time, curve = study.learning_curve(record, study.largest_ends(record.definition))
    above = np.flatnonzero(curve > level)
    if above.size and above[-1] == len(time) - 1:
        return np.inf
    return float(time[above[-1] + 1]) if above.size else 0.0


def times(law: str, hz: float) -> tuple[float, float]:
    """Of the best of four by hand, and of the automatic choice [s]."""
    found = {name: closed_after(record, LEVELS[hz]) for name, record in figures.learning()[law, hz]}
    chosen = found.pop(figures.AUTOMATIC)
    return min(found.values()), chosen


def laws() -> list[str]:
    rows = [
        [f"{hz:g} Hz, {LEVELS[hz]:g}"] + [f"{one:.1f}" for law in ("LMS", "RLS") for one in times(law, hz)]
        for hz in SHOWN
    ]
    return table(["", "LMS, best of four", "LMS, automatic", "RLS, best of four", "RLS, automatic"], rows)


def of_learning() -> list[Claim]:
    tripped = {key: [name for name, record in found if record.tripped] for key, found in figures.learning().items()}
    lms = "; ".join(f"{hz:g} Hz: {', '.join(tripped['LMS', hz]) or 'none'}" for hz in SHOWN)
    rls = sum(len(tripped["RLS", hz]) for hz in SHOWN)
    return [
        claim(
            "Fig. 21",
            "RLS, four forgetting factors at each frequency",
            "stable with all",
            f"{rls} of {5 * len(SHOWN)} trip",
            rls == 0,
            file="images/figure_21_learning_curves.png",
        ),
        claim(
            "Fig. 21",
            "LMS, highest gain",
            "unstable at 320 Hz with μ_LMS = 0.1",
            f"trips with {lms}",
            bool(tripped["LMS", 320.0]),
            "here it is 60 Hz, next to the virtual beam's resonance at 59.2 Hz; gains are normalised, and the rig "
            "is another",
            "images/figure_21_learning_curves.png",
        ),
    ]


def last_nmse(record: study.Record) -> tuple[float, float]:
    """Largest NMSE of the last 2 s, and what the harmonics left out leave."""
    largest, gap = study.square_floor(record.definition)
    last = record.gap_square[record.time > record.time[-1] - 2.0].max()
    return float(last / (largest @ largest)), float((gap**2).sum(axis=1).max() / (largest @ largest))


def floors() -> str:
    found = []
    for harmonics in figures.NUMBERS_OF_HARMONICS:
        largest, gap = study.square_floor(study.square(harmonics))
        found.append(float((gap**2).sum(axis=1).max() / (largest @ largest)))
    return ", ".join(f"{one:.1e}" for one in found)


def squares() -> list[str]:
    other = {1: "5.2e-2", 5: "2.0e-3", 9: "6.0e-5"}
    rows = [
        [str(harmonics), *(f"{one:.1e}" for one in last_nmse(record)), other[harmonics]]
        for harmonics, record in figures.squares().items()
    ]
    return table(
        ["harmonics", "NMSE, largest in the last 2 s", "floor", "that of another rig after the same paper"], rows
    )


def of_squares() -> list[Claim]:
    found = [last_nmse(record)[0] for record in figures.squares().values()]
    return [
        claim(
            "Fig. 22",
            "square wave with 1, 5, 9 harmonics",
            "synchronisation improves with harmonics",
            "NMSE " + ", ".join(f"{one:.1e}" for one in found),
            bool(np.all(np.diff(found) < 0)),
            file="images/figure_22_square_wave.png",
        )
    ]


def of_plates() -> list[Claim]:
    found = figures.plates()
    here = "; ".join(
        f"{hz:g} Hz, {1e3 * height:g} mm: "
        + " and ".join(percent(found[hz, height, count].response) for count in (0, 2))
        for hz, height, kept in found
        if kept == 0
    )
    better = [
        found[hz, height, 2].response < 0.3 * found[hz, height, 0].response for hz, height, kept in found if not kept
    ]
    with_plate, without = (
        worst(study.emulated(150.0, "continuous", with_plate=taken)[0], study.assembled(150.0)[0])
        for taken in (True, False)
    )
    return [
        claim(
            "Eq. 26, Eq. 27",
            "the plate's inertia compensated, or kinematics only",
            "compensation is important",
            f"H at 150 Hz off by {percent(with_plate)} with kinematics only",
            bool(with_plate > 10 * without),
            file="images/kinematics_only.png",
        ),
        claim(
            "Eq. 28, Eq. 29, Eq. 30",
            "a plate that bends, taken for rigid and with two modes",
            "allows flexible interfaces",
            f"H off by: {here}",
            all(better),
            "the paper's own plate is assumed rigid",
            "images/plate_that_bends.png",
        ),
    ]


def plates() -> list[str]:
    rows = [
        [
            f"{hz:g} Hz",
            f"{1e3 * height:g} mm",
            "taken for rigid, 2 accelerometers" if not kept else "2 modes, 4 accelerometers",
        ]
        + [percent(one) for one in (found.force, found.displacement, found.response)]
        for (hz, height, kept), found in figures.plates().items()
    ]
    return table(["", "plate", "compensated as", "force", "displacement", "H of the hybrid test"], rows)


def of_automatic() -> dict[str, str]:
    """The square wave with all times chosen, beside the file's own: NMSE of the coupling after 2 s and 5 s."""
    test = halfreal.load(study.HERE / "square.toml")
    left_out = dict.fromkeys(("forgetting", "identification_forgetting", "random_interval"))
    told = {}
    for name, coupling in (("by hand", test.coupling), ("automatic", test.coupling.changed(**left_out))):
        loop = halfreal.build(test.model_copy(update={"coupling": coupling}))
        begun = test.coupling.identification_time
        found = []
        for after in (begun + 2.0, 3.0):
            found.append(float(loop.run(round(after / test.timing.step), record=["coupling.nmse"]).log[-1, 1]))
        told[f"square {name}"] = " and ".join(f"{one:.1e}" for one in found)
    return told
