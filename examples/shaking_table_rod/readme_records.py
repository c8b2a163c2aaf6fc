"""Numbers of this README that take longer: the table and its records.  See readme_numbers.py."""

from __future__ import annotations

from functools import cache

import figures
import limits
import numpy as np
import study
from gallery import Claim, table

from halfreal.identification import Estimate
from halfreal.runs import linearised, margin_of
from halfreal.stability import delay_margin

PAPER = "shaking table"
HZ = 2 * np.pi


def ms(seconds: float, digits: int = 2) -> str:
    return f"{1e3 * seconds:.{digits}f} ms"


def near(value: float, printed: float, unit: float) -> bool:
    """Equal to a unit of the last digit printed."""
    return bool(abs(value - printed) < unit)


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
            f"falls to {initial.min():.2f}; {tuned.min():.2f}–{tuned.max():.2f}; {left.min():.2f}–{left.max():.2f}",
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
        "pure delay tolerated, continuous",
        f"shortest unstable one, force held over steps of {told} ms",
        "tolerated by the code that runs, same steps",
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
