"""The channel table: what a raw value becomes, which tables are refused, and which raw values are faults."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfreal
from halfreal.definition.faults import DefinitionError
from halfreal.definition.paths import with_values
from halfreal.drivers.blocks import channels_block
from halfreal.drivers.table import Input
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.links.driver import measured_channels, wired

EXAMPLE = Path(__file__).parents[2] / "examples" / "first_rig" / "bench.toml"
BENCH = halfreal.load(EXAMPLE)
STEP = BENCH.timing.step
VOLTS = (
    Channel("raw.lvdt", "V"),
    Channel("raw.load_cell", "V"),
    Channel("raw.accelerometer", "V"),
    Channel("raw.e_stop", "1"),
)


@given(st.floats(-10.0, 10.0), st.floats(1e-3, 1e3), st.floats(-1.0, 1.0), st.sampled_from([1, -1]))
def test_an_input_is_polarity_scale_and_offset(raw, scale, offset, polarity):
    one = Input(terminal="ai0", measures="force", scale=f"{scale!r} N/V", offset=f"{offset!r} V", polarity=polarity)
    assert one.factor("N") * (raw - one.zero) == pytest.approx(polarity * scale * (raw - offset), rel=1e-12)
    assert one.factor("kN") == pytest.approx(1e-3 * one.factor("N"), rel=1e-12)


def test_inputs_stand_in_the_order_of_the_interface_whatever_that_of_the_table():
    table = BENCH.channels
    turned = table.model_copy(update={"inputs": dict(reversed(table.inputs.items()))})
    assert list(wired(BENCH.unchecked_copy({"channels": turned})).inputs) == list(wired(BENCH).inputs)
    assert wired(BENCH).measured == (
        "measured.displacement",
        "measured.force",
        "measured.accelerometer",
        "measured.e_stop",
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"channels.inputs.load_cell.terminal": "position"},
            "terminal 'position' is used twice, by lvdt and load_cell",
        ),
        ({"channels.inputs.load_cell.measures": "displacement"}, "the displacement is already measured by lvdt"),
        ({"channels.inputs.load_cell.scale": "0 N/V"}, "a scale of zero is not allowed"),
        ({"channels.inputs.load_cell.scale": "-5 N/V"}, "give the sign as polarity = -1"),
        ({"channels.inputs.load_cell.scale": "5 mm/V"}, "where N/V is expected"),
        ({"channels.inputs.load_cell.scale": 5.0}, "has no unit where N/V is expected"),
        ({"channels.inputs.load_cell.offset": "3 N"}, "the raw value is in V"),
        ({"channels.inputs.load_cell.range": ["10 V", "-10 V"]}, "is not a range; give the lower value first"),
        ({"channels.inputs.load_cell.calibrated": "4.5.2026"}, "'4.5.2026' is not a date"),
        ({"limits.force.trip": "120 N"}, "120 N, is outside the range of load_cell, which measures up to 100 N"),
        (
            {"limits.channels": {"measured.accelerometer": {"trip": "60 m/s^2"}}},
            r"of measured.accelerometer, 60 m/s\^2, is outside the range of accelerometer",
        ),
        ({"limits.command.trip": "150 mm"}, "the trip limit of the command, 150 mm, is outside the range of valve"),
        ({"channels.inputs.accelerometer.measures": "acelerometer"}, "did you mean 'accelerometer'?"),
        ({"channels.inputs.e_stop.healthy": None}, "an emergency stop is a digital input"),
        ({"channels.inputs.e_stop.stuck": "1 s"}, "a digital input has no range, filter or stuck limit"),
        ({"channels.inputs.e_stop.polarity": -1}, "a digital input has no polarity"),
        ({"channels.outputs.enable.polarity": -1}, "a digital output has no polarity"),
        ({"channels.outputs.enable.on": ["armed", "runing"]}, "'runing' is not allowed"),
        ({"channels.inputs.load_cell.filter": "600 Hz"}, "600 Hz is not below half the sampling rate, 500 Hz at a ste"),
        ({"channels.inputs.load_cell.stuck": "2 ms"}, "2 ms is less than 10 steps of 1 ms.*give at least 10 ms"),
        ({"channels.inputs.load_cell.resolution": "0 V"}, "0 V is not a resolution; give the smallest step"),
        ({"channels.inputs.load_cell.offset": "20 V"}, "20 V is outside the range of -10 to 10 V: a force of zero"),
        ({"channels.outputs.valve.axis": "y"}, "'y' is not an axis"),
        ({"driver.use": "simulatd"}, "did you mean 'simulated'?"),
        ({"driver.use": "no_such.so"}, "there is no file"),
        ({"driver": None}, "needs \\[driver\\] and a channel table"),
        ({"real_time.pacing": "rig"}, "does not wait for a clock of the rig"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else str(value)[:24],
)
def test_tables_that_cannot_be_meant_are_refused(changes, said):
    with pytest.raises(DefinitionError, match=said):
        with_values(BENCH, changes)


@pytest.mark.parametrize(("range_", "zero"), [(["-0.1 V", "10 V"], "0 V"), (["3.6 V", "21 V"], "4 V")])
def test_a_limit_of_a_sensor_that_measures_one_side_only_is_compared_with_that_side(range_, zero):
    """Of pressure, or 4 to 20 mA: below its zero the range ends before any limit."""
    one = {"range": range_, "offset": zero, "scale": "10 m/(s^2 V)"}
    given_ = {f"channels.inputs.accelerometer.{key}": value for key, value in one.items()}
    reach = 10.0 * (float(range_[1].split()[0]) - float(zero.split()[0]))
    limited = {"limits.channels": {"measured.accelerometer": {"trip": f"{0.9 * reach} m/s^2"}}}
    with_values(BENCH, {**given_, **limited})
    limited = {"limits.channels": {"measured.accelerometer": {"trip": f"{1.1 * reach} m/s^2"}}}
    with pytest.raises(DefinitionError, match=rf"which measures up to {reach:g} m/s\^2: it would never trip"):
        with_values(BENCH, {**given_, **limited})


def test_a_missing_channel_is_named():
    inputs = dict(BENCH.channels.inputs)
    del inputs["load_cell"]
    with pytest.raises(DefinitionError, match="no input measures the force; add one"):
        with_values(BENCH, {"channels": BENCH.channels.unchecked_copy({"inputs": inputs})})


def played_step(p, s, t, u, y):
    for i in range(y.size):
        y[i] = p.rows[int(s.at), i]
    s.at += 1.0
    return 0


def played(rows: np.ndarray, test=BENCH) -> tuple[np.ndarray, str]:
    """What channels make of rows of raw values, and the fault that came of them."""
    source = Block("source", played_step, (), VOLTS, {"rows": rows}, {"at": 0.0})
    block = channels_block(wired(test), STEP, rows[0], tuple(measured_channels(test)))
    loop = Loop([source], (), [block], dt=STEP)
    names = [channel.name for channel in block.outputs]
    log = np.array([[float(loop.vector[loop.index[name]]) for name in names] for _ in range(len(rows)) if loop.run(1)])
    return log, loop.describe(float(loop.vector[loop.index["loop.fault"]]))


def rows(count: int = 400) -> np.ndarray:
    found = np.random.default_rng(1).normal(0.0, 0.01, (count, 4))
    found[:, 3] = 1.0
    return found


def test_a_low_pass_of_first_order_answers_a_step_as_its_equation_says():
    raw = rows()
    raw[:, 1] = 2.0
    raw[::2, 1] += 1e-12  # or it would be stuck
    raw[0, 1] = 0.0
    values, fault = played(raw)
    assert fault == ""
    ticks = np.arange(len(raw))
    np.testing.assert_allclose(values[:, 1], 20.0 * (1.0 - np.exp(-2.0 * math.pi * 200.0 * STEP * ticks)), atol=1e-9)
    np.testing.assert_allclose(values[:, 0], 0.01 * raw[:, 0], rtol=1e-14)


@pytest.mark.parametrize(
    ("channel", "values", "said", "state"),
    [
        (0, [math.nan], "channel lvdt (position) did not read a finite number", 1.0),
        (0, [10.0], "channel lvdt (position) is at or beyond its range of -10 V to 10 V", 1.0),
        (1, [-10.5], "channel load_cell (force) is at or beyond its range", 1.0),
        (1, [0.25] * 260, "channel load_cell (force) has not changed at all for 0.25 s", 1.0),
        (3, [0.0], "emergency stop: channel e_stop (bit0) is open", 2.0),
        (3, [math.nan], "channel e_stop (bit0) did not read a finite number", 2.0),  # it counts as pressed
    ],
    ids=["no number", "range", "negative range", "stuck", "emergency stop", "emergency stop not readable"],
)
def test_raw_values_that_are_faults(channel, values, said, state):
    raw = rows()
    raw[100 : 100 + len(values), channel] = values
    found, fault = played(raw)
    assert said.replace("-", "−") in fault or said in fault
    due = 100 + len(values) - 1 if len(values) == 1 else 100 + 250
    assert found[due, -1] == state and not found[:due, -1].any()


def test_a_reading_at_rest_is_no_fault_where_nothing_was_said_of_it():
    raw = rows()
    raw[:, 0] = 0.125  # the displacement has no stuck: an encoder at rest
    assert played(raw)[1] == ""
