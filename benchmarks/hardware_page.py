"""The page of figures about hardware, hardware.md: a script prints its sections, and replaces them with ``--write``."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

PAGE = Path(__file__).with_name("hardware.md")


def show(title: str, lines: list[str], write: bool) -> None:
    """Print a section, and put it into the page, in place of the one with the same title."""
    section = f"## {title}\n\n" + "\n".join(lines) + f"\n\nMeasured on {machine()}.\n"
    print(section, flush=True)
    if not write:
        return
    head, *sections = re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kept = {part.splitlines()[0]: part.strip() + "\n" for part in sections}
    kept[f"## {title}"] = section
    PAGE.write_text("\n".join([head.strip() + "\n", *kept.values()]), encoding="utf-8")


def machine() -> str:
    """The computer, for a reader who compares."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    named = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    name = " ".join(named[1].split()) if named else platform.machine()
    virtual = ", virtual machine" if "hypervisor" in info else ""
    return f"{name}, {os.cpu_count()} cores{virtual}, Linux {platform.release().split('-')[0]}"
