"""A test whose rig lags by a delay and a first-order actuator, under sensors with realistic noise."""

import dataclasses
from pathlib import Path

import numpy as np

import halfreal
from halfreal.definition.load import from_toml
from halfreal.identification.experiment import programme
from halfreal.identification.played_rig import measured_by_model
from halfreal.identification.rig_record import RigRecord, rig_record
from halfreal.models.excitations import Random

TEXT = """
title = "Lagging rig"                 # kept

[timing]
step = "2 ms"
duration = "4 s"

[virtual]
mass = "50 kg"
damping = "200 N s/m"
stiffness = "20 kN/m"
support = { stiffness = "2 kN/m", damping = "10 N s/m" }

[excitation.virtual]
kind = "sine"
displacement = "5 mm"
frequency = "1.5 Hz"

[rig.actuator]                        # as its maker says
kind = "first order"
delay = "4.3 ms"
time_constant = "5 ms"

[rig.specimen]
stiffness = "2250 N/m"                # from a static test
damping = "8 N s/m"
mass = "0.4 kg"

[rig.sensors]
displacement = { noise = "2 um" }
force = { noise = "0.5 N" }

[limits]
command = { warn = "15 mm", trip = "20 mm" }
"""
DISPLACEMENT_NOISE, FORCE_NOISE = 2e-6, 0.5
EXCITATION = Random(displacement=0.5e-3, frequency=0.5, to=25.0, period=2.0)


def lagging(**values):
    definition = from_toml(TEXT, halfreal.Definition, folder=Path())
    return definition.with_values(values) if values else definition


def moved(definition, excitation=EXCITATION, seconds=6.0) -> RigRecord:
    """The record of an experiment on the definition's rig."""
    return rig_record(halfreal.rehearse(programme(definition, excitation, seconds)), definition)


def noisy(definition, record: RigRecord, rng: np.random.Generator) -> RigRecord:
    """The same experiment with other noise."""
    clean = measured_by_model(definition, record)
    n = clean.shape[1] // 2
    noise = rng.standard_normal(clean.shape) * np.repeat([DISPLACEMENT_NOISE, FORCE_NOISE], n)
    found = clean + noise
    return dataclasses.replace(record, displacement=found[:, :n], force=found[:, n:])
