"""A test whose noise decides whether it trips."""

from typing import Any

import halfreal


def near_its_limit(force: float = 20.0, noise: float = 3.0, **more: Any) -> halfreal.Definition:
    """An oscillator with a spring and a noisy load cell, whose limits are near what it uses; 4 s."""
    return halfreal.Definition(
        **{
            "title": "noise at the limit",
            "timing": {"step": 1e-3, "duration": 4.0},
            "virtual": {"mass": 10.0, "stiffness": 9577.6, "damping": 60.0, "force_dof": 1},
            "excitation": {"virtual": {"kind": "sine", "force": force, "frequency": 2.0}},
            "coupling": {"kind": "forward prediction", "prediction": 4e-3, "order": 3, "points": 8},
            "rig": {
                "actuator": {"kind": "delay", "delay": 4e-3},
                "specimen": {"stiffness": 1500.0},
                "sensors": {"displacement": {"noise": 2e-5 * noise / 3.0}, "force": {"noise": noise}},
            },
            "limits": {"command": {"trip": 0.1}, "command_rate": {"trip": 0.0416}, "force": {"trip": 13.15}},
            **more,
        }
    )
