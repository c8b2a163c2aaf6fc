"""Draws the figures of docs/theory by running the code of its pages: docs/images/theory/*.png.

python docs/images/theory.py [NAME ...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGES = HERE.parent / "theory"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> None:
    """Run the blocks of a page in an empty folder, and keep its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run(["halfreal", "new", "first.toml"], check=True, stdout=subprocess.DEVNULL)
        names: dict[str, object] = {"__name__": "page"}
        for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
            if language == "python":
                exec(compile(text, page.name, "exec"), names)
            else:
                for line in text.splitlines():
                    subprocess.run(line.removeprefix("$ "), shell=True, check=True)
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, HERE / "theory" / picture.name)


if __name__ == "__main__":
    (HERE / "theory").mkdir(exist_ok=True)
    start = Path.cwd()
    for page in sorted(PAGES.glob("*.md")):
        if len(sys.argv) == 1 or page.stem in sys.argv[1:]:
            print(page.stem)
            draw(page)
            os.chdir(start)
