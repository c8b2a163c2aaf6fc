"""Feed-forward filters, one for each axis."""

import math

import numpy as np
import pytest
import scipy.signal

import halfreal
from halfreal.couplings.axis_filters import AxisFilters
from halfreal.couplings.forward_prediction import ForwardPrediction
from halfreal.kernels.block import Block, channels, names
from halfreal.kernels.loop import Loop

DT = 1e-3
LAG = {"kind": "lead", "zero": 900.0, "pole": 200.0}
PAIR = {"kind": "polynomials", "numerator": [0.02, 1.0], "denominator": [1e-4, 0.015, 1.0]}


def wave_step(p, s, t, u, y):
    for i in range(y.size):
        y[i] = 0.3 + math.sin((20.0 + 15.0 * i) * t) if t >= 0.0 else 0.3
    return 0


def filtered(coupling, axes=2, ticks=400):
    target = channels("target", "m", axes)
    block = coupling.block(DT, "m", names(target), ())
    loop = Loop([Block("wave", wave_step, (), target), block], dt=DT)
    log = loop.run(ticks, record=[*names(target), *names(block.outputs)]).log[:, 1:]
    return log[:, :axes], log[:, axes:]


def made(**given):
    return AxisFilters.model_validate({"kind": "feed-forward filters", **given})


def test_each_axis_has_its_own_filter():
    """Against scipy's filter of the bilinear form, started as if the first value had stood for long."""
    target, found = filtered(made(filters=[[LAG], [PAIR, LAG]]))
    one = scipy.signal.bilinear([1 / 900.0, 1.0], [1 / 200.0, 1.0], 1 / DT)
    other = [
        np.polymul(a, b)
        for a, b in zip(one, scipy.signal.bilinear([0.02, 1.0], [1e-4, 0.015, 1.0], 1 / DT), strict=True)
    ]
    for axis, (b, a) in enumerate((one, other)):
        start = scipy.signal.lfilter_zi(b, a) * target[0, axis]
        expected = scipy.signal.lfilter(b, a, target[:, axis], zi=start)[0]
        np.testing.assert_allclose(found[:, axis], expected, atol=1e-11)


def test_prediction_alone_is_forward_prediction():
    _, found = filtered(made(prediction=[4.5e-3], order=2, points=8))
    _, expected = filtered(ForwardPrediction(kind="forward prediction", prediction=4.5e-3, order=2, points=8))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_nothing_asked_for_is_nothing_done():
    target, found = filtered(made())
    np.testing.assert_array_equal(found, target)


def test_response_is_that_of_the_block():
    coupling = made(filters=[[PAIR]], prediction=[3e-3])
    hz = 20.0 / (2 * np.pi)
    target, found = filtered(coupling, axes=1, ticks=4000)
    turn = np.exp(-20j * DT * np.arange(4000))[1000:]
    basis = np.column_stack([turn, turn.conj(), np.ones(3000)])
    gains = [np.linalg.lstsq(basis, signal[1000:, 0].astype(complex), rcond=None)[0][1] for signal in (found, target)]
    assert gains[0] / gains[1] == pytest.approx(coupling.response(0, DT, np.array([hz])).item(), rel=1e-9)


def test_filters_that_do_not_decay_are_refused_with_their_places():
    growing = {"kind": "zeros and poles", "gain": 1.0, "pole_pairs": [[2.0, 30.0]]}
    integrator = {"kind": "pi", "proportional": 1.0, "integral": 2.0}
    with pytest.raises(ValueError) as raised:
        made(filters=[[LAG], [PAIR, growing], [integrator]])
    first, second = raised.value.faults
    assert (first.path, second.path) == ("filters[2][2]", "filters[3][1]")
    assert first.message.startswith("a pole at 2 ± 30i rad/s is not stable")
    assert second.message.startswith("a pole at 0 rad/s")


@pytest.mark.parametrize(
    ("given", "told"),
    [({"filters": []}, "no filter"), ({"order": 3, "points": 3}, "3 points are too few for a polynomial of order 3")],
)
def test_what_cannot_be_is_refused(given, told):
    with pytest.raises(ValueError, match=told):
        made(**given)


def test_as_many_filters_as_axes_are_wanted():
    given = {
        "title": "one axis",
        "timing": {"step": DT, "duration": 0.1},
        "virtual": {"mass": [[1.0]], "stiffness": [[100.0]]},
        "rig": {"specimen": {"stiffness": [[1.0]]}},
        "coupling": {"kind": "feed-forward filters", "filters": [[LAG], [PAIR]]},
    }
    with pytest.raises(ValueError, match="2 of them for 1 axis"):
        halfreal.Definition.model_validate(given)
