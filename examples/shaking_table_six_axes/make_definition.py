"""Write six_axes.toml and the store's matrices from the parts, and with the compensation that is found for the table.

python make_definition.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import parts

import halfreal
from halfreal.studies import TableTuning, tune_table

HERE = Path(__file__).parent
HEAD = """\
# A wing, virtual, and a store under it, on a six-axis shaking table.  Written by make_definition.py from parts.py.

title = "Wing and store on the six-axis shaking table"

[timing]
step = "1 ms"
duration = "32 s"

[excitation.virtual]
kind = "random"
force = "150 N"
frequency = "1 Hz"
to = "40 Hz"
period = "16 s"
ramp = "1 s"

[rig]
kind = "shaking table"
delay = "2 ms"
controller = {{ proportional = "{proportional:.4g} 1/s", derivative = {derivative:.3g} }}
force_plate = {{ mass = "30 kg", inertia = ["1 kg m^2", "1 kg m^2", "2 kg m^2"] }}

[rig.sensors]
displacement = {{ noise = "0.2 um" }}
rotation = {{ noise = "0.2 urad" }}
force = {{ noise = "0.05 N" }}
moment = {{ noise = "0.05 N m" }}

[rig.specimen]
kind = "flexible"
mass = {{ unit = "kg", file = "store_mass.csv" }}
stiffness = {{ unit = "N/m", file = "store_stiffness.csv" }}
rayleigh = {{ stiffness = "{damping:g} s" }}
interface = {interface}

[rig.specimen.responses]
{store}

[reference]                     # wing and store as one, to hold the test against

[limits]
command = {{ warn = "20 mm", trip = "30 mm" }}
command_rate = {{ trip = "0.6 m/s" }}
force = {{ trip = "5 kN" }}
rotation.command = {{ warn = "20 mrad", trip = "30 mrad" }}
rotation.command_rate = {{ trip = "0.6 rad/s" }}
rotation.force = {{ trip = "5 kN m" }}
on_trip = "return"

# for `halfreal run`: where the table is (`--with-rig` starts a simulated one)
[link]
kind = "udp"
rig = "127.0.0.1:7630"
lease = "0.3 s"
"""


def numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{value:.9g}" for value in np.ravel(values)) + "]"


def head() -> str:
    store = parts.specimen()
    lines = "\n".join(
        f'"{name}" = {{ dof = {one["dof"]}, quantity = "displacement" }}' for name, one in store["responses"].items()
    )
    return HEAD.format(
        proportional=168.0,
        derivative=0.3,
        damping=parts.STORE_DAMPING,
        interface=list(store["interface"]),
        store=lines,
    )


def virtual() -> str:
    wing = parts.virtual()
    rows = ",\n    ".join(numbers(row) for row in wing["interface"])
    responses = "\n".join(
        f'"{name}" = {{ shape = {numbers(one["shape"])}, quantity = "displacement"{turns} }}'
        for name, one in wing["responses"].items()
        for turns in [", rotation = true" if one["rotation"] else ""]
    )
    return f"""
[virtual]                       # the wing's first modes, of unit modal mass
kind = "modes"
frequency = {{ unit = "Hz", values = {numbers(wing["frequency"])} }}
damping = {numbers(wing["damping"])}
mass = {{ unit = "kg", values = {numbers(wing["mass"])} }}
force_shape = {numbers(wing["force_shape"])}
interface = [
    {rows},
]

[virtual.responses]
{responses}
"""


def coupling(found: TableTuning) -> str:
    rows = []
    for one in found.axes:
        (section,) = one.filters
        keys = [f'kind = "zeros and poles", gain = {section.gain:.6g}']
        for key in ("zeros", "poles"):
            if getattr(section, key) is not None:
                keys.append(f"{key} = {numbers(getattr(section, key).round(3))}")
        for key in ("zero_pairs", "pole_pairs"):
            if getattr(section, key) is not None:
                keys.append(f"{key} = [{', '.join(numbers(pair.round(3)) for pair in getattr(section, key))}]")
        rows.append(f"    [{{ {', '.join(keys)} }}],  # {one.name}")
    ahead = ", ".join(f'"{1e3 * late:.2f} ms"' for late in found.coupling.prediction)
    return f"""
[coupling]                      # inverses of the axes' fitted responses, and prediction by the delay that they leave
kind = "feed-forward filters"
filters = [
{chr(10).join(rows)}
]
prediction = [{ahead}]
order = {found.coupling.order}
points = {found.coupling.points}
"""


def main() -> None:
    store = parts.store()
    for name, matrix in (("mass", store.mass), ("stiffness", store.stiffness)):
        text = "\n".join(",".join(f"{value:.17g}" for value in row) for row in matrix)
        (HERE / f"store_{name}.csv").write_text(text + "\n")
    plain, file = HERE / "without_coupling.toml", HERE / "six_axes.toml"
    plain.write_text(head() + virtual())
    found = tune_table(halfreal.load(plain))
    plain.unlink()
    file.write_text(head() + virtual() + coupling(found))
    print(file)


if __name__ == "__main__":
    main()
