"""Write nodes.csv and elements.csv: a plane frame of five storeys and three bays.

python make_tables.py
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
LINES, STOREYS, HEIGHT, WIDTH, MASS = "ABCD", 5, 3.5, 6.0, 12


def main() -> None:
    nodes, elements = ["name, x (m), y (m), mass (t), fixed"], ["name, kind, nodes, section, hinges, geometry"]
    for floor in range(STOREYS + 1):
        for i, line in enumerate(LINES):
            mass, fixed = ("", "all") if floor == 0 else (MASS, "")
            nodes.append(f"{line}{floor}, {WIDTH * i:g}, {HEIGHT * floor:g}, {mass}, {fixed}")
            if floor:
                ends = f"{line}{floor - 1} {line}{floor}"
                elements.append(f"column {line}{floor}, beam, {ends}, column, column column, p-delta")
        if floor:
            for one, other in pairwise(LINES):
                elements.append(
                    f"girder {one}{floor}, beam, {one}{floor} {other}{floor}, girder, girder girder, linear"
                )
    (HERE / "nodes.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    (HERE / "elements.csv").write_text("\n".join(elements) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
