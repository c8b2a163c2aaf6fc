"""Every coupling on a rig of two axes that differ: each ends where the same coupling ends alone on that axis."""

import numpy as np
import pytest

from halfreal.couplings.per_axis import given_each, of_axis
from halfreal.definition.definition import Definition
from halfreal.definition.load import from_json, from_toml
from halfreal.definition.write import to_toml
from halfreal.errors import DefinitionError
from halfreal.runs.build import build

STEP, TICKS = 1e-3, 3000
MASS, STIFFNESS, HELD, POLES = (2.0, 5.0), (4000.0, 3000.0), (300.0, 500.0), (12.0, 30.0)
NAMES = ("x", "rz")


def definition(axes, coupling) -> Definition:
    """A test of some of two axes, with actuators of different lag; each axis is a system of its own."""
    at = list(axes)
    entries = [[{"gain": float(i == j) * 0.95, "poles": [NAMES[i]]} for j in at] for i in at]
    roots = {NAMES[i]: {"frequency": POLES[i]} for i in at}
    return Definition.model_validate(
        {
            "title": "axes that differ",
            "axes": [NAMES[i] for i in at],
            "timing": {"step": STEP, "duration": TICKS * STEP},
            "virtual": {
                "mass": np.diag([MASS[i] for i in at]),
                "damping": np.diag([12.0 for _ in at]),
                "stiffness": np.diag([STIFFNESS[i] for i in at]),
                "interface": [i + 1 for i in range(len(at))],
            },
            "excitation": {"virtual": {"kind": "sine", "acceleration": 1.0, "frequency": 3.0}},
            "coupling": coupling,
            "rig": {
                "kind": "coupled actuators",
                "actuators": {"kind": "zeros and poles", "roots": roots, "entries": entries},
                "specimen": {"stiffness": np.diag([HELD[i] for i in at])},
            },
            "limits": {},
        }
    )


ROWS = [[1.0, 0.012], [1.05, 0.006]]
SECTIONS = {"kind": "lead", "zero": 75.0, "pole": 700.0}
OTHER = {"kind": "lead", "zero": 180.0, "pole": 900.0}
FILTER = {"coefficients": ROWS, "command_noise": ["0.1 mm", "1 mrad"], "measurement_noise": ["10 um", "1 urad"]}
EACH = [
    {"kind": "forward prediction", "prediction": [0.012, 0.006], "order": [2, 3], "points": [6, 12]},
    {"kind": "model inverse", "coefficients": ROWS, "order": [2, 3], "points": [6, 12], "lead": [0.0, 1e-3]},
    {
        "kind": "adaptive forward prediction",
        "prediction": [0.02, 0.002],
        "order": [1, 2],
        "highest_order": [1, 3],
        "adaption_time": [0.3, 0.6],
        "amplitude_gain": [0.3, 0.1],
        "amplitude_range": [0.2, 0.3],
        "least_velocity": ["0.1 mm/s", "0.2 mrad/s"],
        "over_compensation": [0.0, 1e-3],
        "window": [0.4, 0.5],
        "hold": [1.0, 0.5],
    },
    {
        "kind": "adaptive time series",
        "coefficients": ROWS,
        "cutoff": [15.0, 25.0],
        "window": [0.5, 1.0],
        "least_amplitude": ["1 um", "2 urad"],
        "range": [0.6, 0.3],
        "rate": [0.5, 2.0],
        "filter": FILTER,
    },
    {
        "kind": "adaptive model based",
        "coefficients": ROWS,
        "cutoff": [15.0, 25.0],
        "memory": [2.0, 4.0],
        "prior": ["1 um", "2 urad"],
        "least_amplitude": ["1 um", "2 urad"],
        "range": [0.6, 0.3],
        "lead": [0.0, 1e-3],
    },
    {"kind": "linear controller", "feed_forward": [[SECTIONS], [OTHER, OTHER]], "filter": None},
    {
        "kind": "linear controller",
        "feedback": [[{"kind": "pi", "proportional": 0.5, "integral": 3.0}], []],
        "feed_forward": [[SECTIONS], [OTHER]],
        "filter": FILTER,
    },
    {"kind": "feed-forward filters", "filters": [[SECTIONS], [OTHER]], "prediction": [0.0, 2e-3], "order": [3, 2]},
    {
        "kind": "narrow band table",
        "frequencies": [1.0, 3.0, 9.0],
        "amplitudes": [[1.0, 1.1, 1.3], [1.05, 1.06, 1.1]],
        "leads": [[0.012, 0.012, 0.011], [0.006, 0.005, 0.004]],
        "mean_time": [2.0, 3.0],
        "track": {"start": 2.0, "least_amplitude": ["1 nm", "1 nrad"], "memory": [0.5, 1.0]},
    },
    {
        "kind": "broad band inverse",
        "taps": 3,
        "weights": [[3.0, -3.0, 1.0], [2.0, -1.0, 0.0]],
        "mean_time": [2.0, 3.0],
        "proportional": [0.1, 0.0],
        "integral": [0.5, 0.0],
    },
    {
        "kind": "adaptive fir",
        "coefficients": [[2.0, -1.0, 0.0], [1.5, -0.5, 0.0]],
        "taps": 3,
        "spacing": 6,
        "covariance": [1e8, 1e6],
    },
]


OWN_LISTS = {"feed-forward filters": ("filters", "prediction"), "adaptive fir": ("covariance",)}
"""Settings that are a list for each axis in a way of their own."""


def recorded(axes, coupling) -> dict[str, np.ndarray]:
    """What each axis does, and what its coupling records, by the names that they have on one axis."""
    loop = build(definition(axes, coupling))
    names = [one.name for one in loop.channels if one.name.startswith(("target", "command", "rig.", "coupling."))]
    log = loop.run(TICKS, record=names).log[:, 1:]
    return dict(zip(names, log.T, strict=True))


@pytest.mark.parametrize("coupling", EACH, ids=lambda one: one["kind"])
def test_each_axis_ends_where_the_coupling_ends_alone_on_it(coupling):
    coupling = {key: value for key, value in coupling.items() if value is not None}
    both = recorded((0, 1), coupling)
    whole = definition((0, 1), coupling).coupling
    assert given_each(whole)
    for i, name in enumerate(NAMES):
        settings = of_axis(whole, i).model_dump(mode="json")
        for key in OWN_LISTS.get(coupling["kind"], ()):
            settings[key] = [settings[key][i]]
        alone = recorded((i,), settings)
        assert len(alone) * 2 == len([one for one in both if one.endswith((".x", ".rz"))])
        for signal, values in alone.items():
            size = np.abs(values).max() + 1e-12
            np.testing.assert_allclose(both[f"{signal}.{name}"] / size, values / size, atol=1e-7, err_msg=signal)


def test_settings_of_each_axis_go_through_toml(tmp_path):
    for coupling in EACH:
        given = definition((0, 1), {key: value for key, value in coupling.items() if value is not None})
        assert from_toml(to_toml(given), Definition, folder=tmp_path) == given


def test_as_many_as_axes_are_wanted_of_every_setting():
    plain = definition((0, 1), EACH[0]).model_dump(mode="json")
    for settings, told in (
        ({**EACH[3], "samples": [64, 64, 128]}, r"coupling\.samples: 3 of them for 2 axis"),
        ({**EACH[3], "filter": {**FILTER, "command_noise": [1e-4] * 3}}, r"coupling\.filter\.command_noise: 3 of them"),
        ({**EACH[5], "feed_forward": [[SECTIONS]] * 3}, r"coupling\.feed_forward: 3 of them for 2 axis"),
        ({**EACH[2], "points": [2, 12]}, r"coupling\.points: 2 must be at least 3"),
        ({**EACH[2], "highest_order": [3, 3, 3]}, r"highest_order: 3 values, but 2 of another setting"),
        ({**EACH[2], "order": 1.5}, r"coupling\.order: 1\.5 where a whole number"),
        ({**EACH[8], "amplitudes": [[1.0, 1.0, -1.0]] * 2}, r"an amplitude of -1"),
    ):
        with pytest.raises(DefinitionError, match=told):
            from_json(Definition, {**plain, "coupling": settings})
