"""FMUs for tests: the oscillator of oscillator.c, compiled and packed here."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from contracts.native import COMPILER
from halfreal.kernels.fmi_library import platform_folder

HERE = Path(__file__).parent
VARIABLES = {  # name: causality, unit, start
    "m": ("parameter", "kg", 2.2),
    "c": ("parameter", "N.s/m", 15.0),
    "k": ("parameter", "N/m", 2250.0),
    "k3": ("parameter", "N/m3", 0.0),
    "force": ("input", "N", 0.0),
    "excitation": ("input", "N", 0.0),
    "x": ("output", "m", None),
    "v": ("output", "m/s", None),
}
STATES = {"x": "v", "v": "a"}


def oscillator(
    folder: Path, version: int, name: str = "oscillator", defined: tuple[str, ...] = (), **changes: str
) -> Path:
    """An FMU of this version of FMI; ``changes`` are texts of its description that are replaced."""
    assert COMPILER is not None
    library = folder / f"{name}.so"
    words = [COMPILER, "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-DFMI={version}", str(HERE / "oscillator.c")]
    subprocess.run([*words, *(f"-D{one}" for one in defined), "-o", str(library)], check=True)
    text = (description_2() if version == 2 else description_3()).replace("NAME", name)
    for old, new in changes.items():
        text = text.replace(old, new)
    path = folder / f"{name}.fmu"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("modelDescription.xml", text)
        packed.write(library, f"binaries/{platform_folder(f'{version}.0')}/{name}.so")
    library.unlink()
    return path


def units_text() -> str:
    names = sorted({unit for _, unit, _ in VARIABLES.values()})
    return "<UnitDefinitions>" + "".join(f'<Unit name="{unit}"/>' for unit in names) + "</UnitDefinitions>"


def description_2() -> str:
    rows = []
    for i, (name, (causality, unit, start)) in enumerate(VARIABLES.items()):
        given = "" if start is None else f' start="{start}"'
        how = {"parameter": 'variability="fixed" initial="exact"', "input": 'variability="continuous"'}.get(
            causality, 'variability="continuous" initial="calculated"'
        )
        rows.append(
            f'<ScalarVariable name="{name}" valueReference="{i}" causality="{causality}" {how}>'
            f'<Real unit="{unit}"{given}/></ScalarVariable>'
        )
    for i, state in ((8, 7), (9, 8)):
        rows.append(
            f'<ScalarVariable name="der{i}" valueReference="{90 + i}" causality="local" variability="continuous" '
            f'initial="calculated"><Real derivative="{state}"/></ScalarVariable>'
        )
    outputs = "".join(f'<Unknown index="{i}"/>' for i in (7, 8))
    derivatives = "".join(f'<Unknown index="{i}"/>' for i in (9, 10))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription fmiVersion="2.0" modelName="NAME" '
        'guid="oscillator-1" numberOfEventIndicators="0">'
        '<ModelExchange modelIdentifier="NAME"/><CoSimulation modelIdentifier="NAME" '
        f'canHandleVariableCommunicationStepSize="true"/>{units_text()}<ModelVariables>{"".join(rows)}</ModelVariables>'
        f"<ModelStructure><Outputs>{outputs}</Outputs><Derivatives>{derivatives}</Derivatives>"
        f"<InitialUnknowns>{outputs}{derivatives}</InitialUnknowns></ModelStructure></fmiModelDescription>"
    )


def description_3() -> str:
    rows = []
    for i, (name, (causality, unit, start)) in enumerate(VARIABLES.items()):
        given = "" if start is None else f' start="{start}"'
        how = {"parameter": 'variability="fixed" initial="exact"', "input": 'variability="continuous"'}.get(
            causality, 'variability="continuous" initial="calculated"'
        )
        rows.append(f'<Float64 name="{name}" valueReference="{i}" causality="{causality}" {how} unit="{unit}"{given}/>')
    for i, state in ((8, 6), (9, 7)):
        rows.append(
            f'<Float64 name="der{i}" valueReference="{90 + i}" causality="local" variability="continuous" '
            f'initial="calculated" derivative="{state}"/>'
        )
    rows.append('<Float64 name="time" valueReference="77" causality="independent" variability="continuous"/>')
    outputs = "".join(f'<Output valueReference="{i}"/>' for i in (6, 7))
    derivatives = "".join(f'<ContinuousStateDerivative valueReference="{i}"/>' for i in (98, 99))
    unknowns = "".join(f'<InitialUnknown valueReference="{i}"/>' for i in (6, 7, 98, 99))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><fmiModelDescription fmiVersion="3.0" modelName="NAME" '
        'instantiationToken="oscillator-1"><ModelExchange modelIdentifier="NAME"/><CoSimulation modelIdentifier="NAME" '
        f'canHandleVariableCommunicationStepSize="true"/>{units_text()}<ModelVariables>{"".join(rows)}</ModelVariables>'
        f"<ModelStructure>{outputs}{derivatives}{unknowns}</ModelStructure></fmiModelDescription>"
    )
