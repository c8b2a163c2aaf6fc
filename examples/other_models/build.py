"""Compile and pack what the definitions of this example name: oscillator.fmu and compensator.so.

python build.py [FOLDER]        # the folder "definitions" if left out
"""

from __future__ import annotations

import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import halfreal

HERE = Path(__file__).parent
PLATFORM = "linux64" if platform.machine() == "x86_64" else f"{platform.machine()}-linux"
"""Where an FMU of FMI 2.0 keeps its library."""
HEADER = Path(halfreal.__file__).parent / "examples" / "user_functions"
CC = ["cc", "-O2", "-ffp-contract=off", "-shared", "-fPIC", f"-I{HEADER}"]


def build(folder: Path) -> None:
    library = folder / "oscillator.so"
    subprocess.run([*CC, str(HERE / "oscillator.c"), "-o", str(library), "-lm"], check=True)
    with zipfile.ZipFile(folder / "oscillator.fmu", "w") as packed:
        packed.write(HERE / "modelDescription.xml", "modelDescription.xml")
        packed.write(library, f"binaries/{PLATFORM}/oscillator.so")
    library.unlink()
    subprocess.run([*CC, str(HERE / "compensator.c"), "-o", str(folder / "compensator.so")], check=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "definitions")
