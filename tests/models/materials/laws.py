"""One law of each sort, with the deformation that matters for it; in one place for all tests of laws."""

SPENCER = {  # the paper's prototype at 1.5 V, in N, cm and s there
    **{"kind": "mr damper", "alpha": 96300.0, "c0": 5300.0, "c1": 93000.0, "k0": 1400.0, "k1": 540.0},
    **{"beta": 2.0e6, "gamma": 2.0e6, "amplitude": 207.0},
}
LAWS = {
    "linear": ({"kind": "linear", "stiffness": 2e3}, 0.01),
    "cubic": ({"kind": "cubic", "stiffness": 2e3, "cubic": 5e6}, 0.01),
    "bilinear": ({"kind": "bilinear", "stiffness": 2e3, "limit": 0.01, "outer_stiffness": 500.0}, 0.01),
    "gap": ({"kind": "gap", "stiffness": 2e3, "gap": 0.004}, 0.01),
    "hook": ({"kind": "hook", "stiffness": 2e3}, 0.01),
    "elastoplastic": ({"kind": "elastoplastic", "stiffness": 2e3, "yield_force": 20.0, "hardening": 0.1}, 0.01),
    "bouc-wen": ({"kind": "bouc-wen", "stiffness": 2e3, "yield_displacement": 0.01, "alpha": 0.1, "n": 1.5}, 0.01),
    "bouc-wen, degrading": (
        {
            **{"kind": "bouc-wen", "stiffness": 2e3, "yield_displacement": 0.01, "alpha": 0.05, "n": 2.0},
            **{"degrading_amplitude": 0.005, "degrading_strength": 0.03, "degrading_stiffness": 0.02},
        },
        0.01,
    ),
    "menegotto-pinto": ({"kind": "menegotto-pinto fibre", "modulus": 2e11, "yield_stress": 4e8, "a1": 0.02}, 0.002),
    "ibarra-medina-krawinkler": (
        {
            **{"kind": "ibarra-medina-krawinkler hinge", "stiffness": 2e7, "yield_moment": 4e5, "residual": 0.3},
            **{"plastic_rotation": 0.04, "post_capping_rotation": 0.16, "ultimate_rotation": 0.4},
            **{"strength_capacity": 1.0, "capping_capacity": 1.0, "unloading_capacity": 2.0},
        },
        0.02,
    ),
    "coulomb friction": ({"kind": "coulomb friction", "force": 20.0, "stick_stiffness": 2e4}, 0.003),
    "friction pendulum": (
        {
            **{"kind": "friction pendulum", "normal_force": 1e5, "radius": 2.0, "friction": 0.08},
            **{"slow_friction": 0.03, "fading_speed": 0.04},
        },
        0.01,
    ),
    "power damper": ({"kind": "power damper", "force": 2e4, "speed": 0.3, "alpha": 0.3}, 0.01),
    "maxwell damper": (
        {"kind": "maxwell damper", "stiffness": 2e7, "force": 2e4, "speed": 0.3, "alpha": 0.3},
        0.01,
    ),
    "mr damper": (SPENCER, 0.01),
    "kent-park concrete": ({"kind": "kent-park concrete", "strength": 3e7, "crushed_stress": 6e6}, 0.002),
    "concrete with tension": (
        {
            **{"kind": "concrete with tension", "strength": 3e7, "crushed_stress": 6e6},
            **{"tensile_strength": 3e6, "softening_modulus": 2e9},
        },
        0.002,
    ),
}
