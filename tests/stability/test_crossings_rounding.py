"""Margins of loops with more states than are solved for anew at each frequency, where rounding decides signs."""

import numpy as np
import pytest

from halfreal.contracts.context import OPEN_LOOP
from halfreal.contracts.state_space import FEW_STATES
from halfreal.couplings.adaptive_model_based import AdaptiveModelBased
from halfreal.couplings.force_prediction import ForcePrediction
from halfreal.couplings.kalman_filter import KalmanFilter
from halfreal.runs.build import SETTLING_TICKS, build
from halfreal.stability.margins import delay_margin
from halfreal.stability.open_loop import open_loop
from halfreal.vrths import problem as vrths


@pytest.mark.parametrize(("order", "degree"), [(3, 1), (4, 2), (5, 3)])
def test_margins_are_those_of_a_fine_grid_where_signs_are_lost_in_rounding(order, degree):
    """Kalman filter and force prediction on the benchmark's actuator: at its real points Im L is rounding."""
    definition = vrths.case(4)
    kalman = KalmanFilter(coefficients=definition.rig.inverse(order), command_noise=1e-4, measurement_noise=1.6e-5)
    coupling = AdaptiveModelBased(
        kind="adaptive model based",
        coefficients=definition.rig.inverse(),
        filter=kalman,
        force_prediction=ForcePrediction(prediction=1.22e-4, order=degree),
    )
    loop = build(definition.model_copy(update={"coupling": coupling}), OPEN_LOOP)
    loop.run(SETTLING_TICKS)
    model = open_loop(loop)
    assert model.states > FEW_STATES
    margin = delay_margin(model)
    omega = np.geomspace(1.0, 0.999 * np.pi / model.dt, 200_000)
    response = model.response(omega)[:, 0, 0]
    real = np.flatnonzero((response.imag[1:] * response.imag[:-1] < 0) & (response.real[1:] < 0))
    gains = -1.0 / response.real[real]
    assert margin.gain_margin_db == pytest.approx(20 * np.log10(gains[gains > 1].min()), abs=0.01)
    one = np.flatnonzero((np.abs(response[1:]) < 1) != (np.abs(response[:-1]) < 1))
    lag = np.mod(np.angle(response[one]) + np.pi, 2 * np.pi)
    assert margin.phase_margin_deg == pytest.approx(np.degrees(lag.min()), abs=0.05)
