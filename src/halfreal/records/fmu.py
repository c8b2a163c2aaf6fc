"""A part of a test, or its whole loop, as an FMU for other programs: FMI 2.0 co-simulation, for Linux.

Its blocks are those that run here, as object code (``kernels/object_code.py``), in a library with the functions of the
standard around them (``fmu_shell.c``); it needs neither Python nor Numba.  It has real variables only: channels under
their names, in their units.  Its communication step is the test's step, or a whole multiple with inputs held.

https://fmi-standard.org, FMI 2.0.4.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from .. import __version__, units
from ..definition.definition import Definition
from ..definition.load import to_toml
from ..errors import HalfrealError
from ..kernels import object_code
from ..kernels.fmi_library import platform_folder
from ..kernels.loop import Loop
from ..kernels.tick import compiled_run
from ..runs.parts import INPUTS, Part, part_of
from .whole_file import whole_file

SHELL = Path(__file__).with_name("fmu_shell.c")
GIVEN, OF_TRIAL, OF_LAST_TICK = "GIVEN", "OF_TRIAL", "OF_LAST_TICK"
WHAT: dict[Part, str] = {
    "virtual": "virtual substructure",
    "coupling": "coupling",
    "rig": "simulated rig",
    "loop": "whole loop, with its simulated rig",
}


class FmuExportError(HalfrealError):
    """A part that cannot be made an FMU here."""


class Exposed(NamedTuple):
    """A variable of the FMU: a channel, where its number is in the loop's vector, and when it holds."""

    name: str
    unit: str
    place: int
    kind: str
    start: float


def export_fmu(
    definition: Definition,
    path: str | Path,
    part: Part = "rig",
    *,
    overwrite: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write a part of a test as an FMI 2.0 co-simulation FMU.

    Parameters
    ----------
    definition
        The test.
    path
        The file to write.
    part
        'virtual', 'coupling', 'rig' or 'loop'.
    overwrite
        Whether an existing file is replaced.
    on_progress
        Callback with (blocks compiled, total).

    Returns
    -------
    list of str
        Names of the variables, inputs first.
    """
    path = Path(path)
    compiler = shutil.which("cc")
    if compiler is None:
        raise FmuExportError("an FMU is linked by a C compiler, but there is no 'cc'; install one, e.g. gcc")
    loop = part_of(definition, part)
    variables = exposed(loop)
    name = re.sub(r"\W", "_", path.stem, flags=re.ASCII)
    name = name if name[:1].isalpha() else f"part_{name}"
    blocks: list[object_code.ObjectCode] = []
    for block in loop.blocks:
        if on_progress is not None:
            on_progress(len(blocks), len(loop.blocks))
        blocks.append(object_code.of_block(block))
    whole = object_code.of_loop()
    header = c_header(loop, whole.symbol, [one.symbol for one in blocks], variables)
    text = to_toml(definition)
    objects = list(dict.fromkeys(one.content for one in (*blocks, whole)))
    digest = hashlib.sha256("\n".join((header, text, __version__)).encode() + b"".join(objects)).hexdigest()
    description = described(definition, loop, variables, part, name, f"{{{digest[:32]}}}")
    with tempfile.TemporaryDirectory(prefix="halfreal-fmu-") as folder:
        library = linked(compiler, Path(folder), f'#define GUID "{{{digest[:32]}}}"\n{header}', objects)
        with whole_file(path, overwrite) as temporary, zipfile.ZipFile(temporary, "w") as packed:
            _put(packed, "modelDescription.xml", description.encode())
            _put(packed, f"binaries/{platform_folder('2.0')}/{name}.so", library)
            _put(packed, "resources/definition.toml", text.encode())
    return [one.name for one in variables]


def _put(packed: zipfile.ZipFile, name: str, content: bytes) -> None:
    """A file of the archive, with a time that is always the same: so is the archive."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    packed.writestr(info, content)


def exposed(loop: Loop) -> list[Exposed]:
    """All channels of a part: what it is given first, then what its blocks write."""
    found, vector = [], loop.vector
    rig = {channel.name for block in (*loop.inner, *loop.outer) for channel in block.outputs}
    for block in loop.blocks:
        if block.name == INPUTS:
            places = loop.state_indices(INPUTS, "value") if block.outputs else ()
            for channel, place in zip(block.outputs, places, strict=True):
                found.append(Exposed(channel.name, channel.unit, int(place), GIVEN, float(vector[place])))
            continue
        for channel in block.outputs:
            kind = OF_LAST_TICK if channel.name in rig else OF_TRIAL
            found.append(Exposed(channel.name, channel.unit, loop.index[channel.name], kind, 0.0))
    return found


# --- the library ------------------------------------------------------------------------------------------------------


def linked(compiler: str, folder: Path, header: str, objects: Sequence[bytes]) -> bytes:
    """The shared library of these objects and the shell; one that needs more than the C library is refused."""
    (folder / "part.h").write_text(header, encoding="utf-8")
    names = [f"{i}.o" for i in range(len(objects))]
    for name, content in zip(names, objects, strict=True):
        (folder / name).write_bytes(content)
    words = [compiler, "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{folder}", str(SHELL)]
    words += [*names, "-Wl,-z,defs", "-Wl,--strip-all", "-o", "part.so", "-lm"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        missing = sorted(set(re.findall(r"undefined reference to [`']([^']+)'", done.stderr)))
        if missing:
            raise FmuExportError(
                f"this part calls {', '.join(missing)}, which only Python's process has; export another part, or "
                "have its function use plain arithmetic and the math module"
            )
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise FmuExportError(f"the C compiler failed: {said}")
    return (folder / "part.so").read_bytes()


def c_header(loop: Loop, ticks: str, symbols: Sequence[str], variables: Sequence[Exposed]) -> str:
    """What ``fmu_shell.c`` receives of a part."""
    laid = loop.laid_out()
    given, faults = laid.given, loop.faults()
    functions = "\n".join(
        f"HIDDEN int32_t {symbol}(int64_t *, void **, intptr_t, intptr_t, double, intptr_t, intptr_t, intptr_t);"
        for symbol in dict.fromkeys(symbols)
    )
    sizes = "\n".join(f"static const int64_t sizes{i}[] = {{{_whole(one)}}};" for i, one in enumerate(laid.sizes))
    rows = ",\n".join(
        f"{{{symbol}, {_whole(row)}, sizes{i}}}" for i, (symbol, row) in enumerate(zip(symbols, laid.rows, strict=True))
    )
    return f"""#define ROWS {len(symbols)}
#define WIRES {len(laid.wires)}
#define SIZE {len(laid.vector)}
#define VARIABLES {len(variables)}
#define FAULTS {len(faults)}
#define DT {_number(loop.dt)}
#define SUBSTEPS {loop.substeps}
#define GROUPS {_whole(given.groups)}
#define MODE {given.mode}
#define END {given.end}
#define TICKS {ticks}
#define WORDS {compiled_run.words}
#define CONTROL {len(given.control)}
{functions}
{sizes}
static const Row rows[ROWS] = {{{rows}}};
static const uint64_t wires[WIRES] = {{{_whole(laid.wires)}}};
static const double start[SIZE] = {{{_numbers(laid.vector)}}};
static const double parameters[] = {{{_numbers(laid.parameters) or "0.0"}}};
static const Variable variables[VARIABLES] = {{{", ".join(f"{{{one.place}, {one.kind}}}" for one in variables)}}};
static const Fault faults[FAULTS] = {{{", ".join(f"{{{code}, {_text(words)}}}" for code, words in faults.items())}}};
"""


def _whole(values: np.ndarray) -> str:
    return ", ".join(str(int(value)) for value in values)


def _numbers(values: np.ndarray) -> str:
    return ",".join(_number(float(value)) for value in values)


def _number(value: float) -> str:
    """A float64 in C, to its last bit."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()


def _text(words: str) -> str:
    """Text in C: as JSON quotes it, in UTF-8, for which C has the same."""
    return json.dumps(words, ensure_ascii=False)


# --- the description --------------------------------------------------------------------------------------------------


def described(
    definition: Definition, loop: Loop, variables: Sequence[Exposed], part: Part, name: str, guid: str
) -> str:
    """modelDescription.xml."""
    rows = []
    for i, one in enumerate(variables):
        unit = f' unit="{modelica(one.unit)}"' if one.unit != "1" else ""
        how = 'causality="output" variability="discrete" initial="calculated"'
        start = ""
        if one.kind == GIVEN:
            how, start = 'causality="input" variability="discrete"', f' start="{one.start!r}"'
        rows.append(
            f'    <ScalarVariable name={quoteattr(one.name)} valueReference="{i}" {how}><Real{unit}{start}/>'
            "</ScalarVariable>"
        )
    told = units_of(variables)
    late = ' dependencies=""'  # what a rig measures does not depend on the command of this tick
    outputs = [
        (i + 1, late if one.kind == OF_LAST_TICK else "") for i, one in enumerate(variables) if one.kind != GIVEN
    ]
    unknowns = "".join(f'<Unknown index="{i}"{how}/>' for i, how in outputs)
    before = -loop.start * loop.dt
    ends = loop.dt * (definition.timing.ticks if loop.end is None else loop.end - loop.start)
    words = f"The {WHAT[part]} of the test '{definition.title}'. Communication step {loop.dt:g} s or a whole multiple."
    if before:
        words += f" The test begins at {before:g} s, after its soft start."
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName={quoteattr(name)} guid="{guid}" description={quoteattr(words)}
  generationTool="halfreal {__version__}" variableNamingConvention="flat" numberOfEventIndicators="0">
  <CoSimulation modelIdentifier="{name}" canHandleVariableCommunicationStepSize="false" canGetAndSetFMUstate="true"
    canSerializeFMUstate="true" canNotUseMemoryManagementFunctions="true"/>
{told}  <DefaultExperiment startTime="0" stopTime="{ends!r}" stepSize="{loop.dt!r}"/>
  <ModelVariables>
{chr(10).join(rows)}
  </ModelVariables>
  <ModelStructure><Outputs>{unknowns}</Outputs><InitialUnknowns>{unknowns}</InitialUnknowns></ModelStructure>
</fmiModelDescription>
"""


def units_of(variables: Sequence[Exposed]) -> str:
    """The units that are used, in base units."""
    rows = []
    for unit in sorted({one.unit for one in variables} - {"1"}):
        size, powers = units.in_base_units(unit)
        base = "".join(f' {key}="{power}"' for key, power in powers.items())
        factor = "" if size == 1.0 else f' factor="{size!r}"'
        rows.append(f'    <Unit name="{modelica(unit)}"><BaseUnit{base}{factor}/></Unit>\n')
    return f"  <UnitDefinitions>\n{''.join(rows)}  </UnitDefinitions>\n" if rows else ""


def modelica(unit: str) -> str:
    """A unit as Modelica and FMUs write it: N.m, m/s2."""
    return unit.replace("^", "").replace(" ", ".")
