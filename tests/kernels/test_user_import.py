"""A user's code runs as it is now: constants, helpers and tables of other files too, whatever any cache holds."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from halfreal.kernels.block import Block, Channel
from halfreal.kernels.closed_over import closed_over
from halfreal.kernels.loop import Loop
from halfreal.kernels.user import UserFunctionError, load_function, try_out
from halfreal.kernels.user_import import import_file

MINE = """
    import os
    from pathlib import Path

    import numpy as np

    import far
    from near import LIMIT, doubled, halved

    TABLE = np.loadtxt(Path(__file__).parent / "table.csv", delimiter=",")
    LABORATORY = float(os.environ["LABORATORY"])
    AT_IMPORT = halved(1.0)

    def step(p, s, t, u, y):
        y[0] = LIMIT
        y[1] = far.away.LIMIT
        y[2] = doubled(1.0)
        y[3] = far.tripled(1.0)
        y[4] = halved(1.0)
        y[5] = TABLE[1]
        y[6] = LABORATORY
        y[7] = AT_IMPORT
        return 0
"""
NEAR = """
    import numba
    from further import HALF
    LIMIT = {0}.0
    def doubled(x):
        return {0}.0 * x
    @numba.njit(cache=True)
    def halved(x):
        return HALF * x
"""
FAR = """
    import away
    import numba
    @numba.njit(cache=True)
    def tripled(x):
        return {0}.0 * x + 0.0 * away.LIMIT
"""
CONSTANT = "{1} = {0}.0\n"
SIGNALS = tuple(f"y{i}" for i in range(8))


def write(folder, value: int) -> None:
    """All files, each of the same size and time whatever the value."""
    texts = {
        "mine.py": MINE,
        "near.py": NEAR,
        "far.py": FAR,
        "away.py": CONSTANT.replace("{1}", "LIMIT"),
        "further.py": CONSTANT.replace("{1}", "HALF"),
        "table.csv": "0.0, {0}.0\n",
    }
    for name, text in texts.items():
        path = folder / name
        path.write_text(textwrap.dedent(text).replace("{0}", str(value)))
        os.utime(path, (1.0e9, 1.0e9))


def outputs(folder) -> list[float]:
    step = load_function(folder / "mine.py", "step")
    block = Block("guard", step, (), tuple(Channel(name, "1") for name in SIGNALS))
    return Loop([block], dt=1.0).run(1, record=SIGNALS).log[0, 1:].tolist()


def test_a_change_of_anything_that_is_imported_or_read_acts_within_one_process(tmp_path, monkeypatch):
    write(tmp_path, 3)
    monkeypatch.setenv("LABORATORY", "3")
    assert outputs(tmp_path) == [3.0] * 8
    for i, name in enumerate(["near.py", "far.py", "away.py", "further.py", "table.csv"]):
        path = tmp_path / name
        path.write_text(path.read_text().replace("3.0", f"{4 + i}.0"))
        os.utime(path, (1.0e9, 1.0e9))
        after = outputs(tmp_path)
        assert 4.0 + i in after, name
    monkeypatch.setenv("LABORATORY", "9")
    assert outputs(tmp_path) == [4.0, 6.0, 4.0, 5.0, 7.0, 8.0, 9.0, 7.0]


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kernels.test_user_import import outputs
print(outputs(Path(sys.argv[2])))
"""


def test_a_change_acts_in_the_next_process(tmp_path):
    """Numba's cache and Python's own both know a file by its size and time, which are those of the file before."""
    tests, environment = str(Path(__file__).parents[1]), {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for value in (3, 5):
        write(tmp_path, value)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, tests, str(tmp_path)],
            env={**environment, "LABORATORY": str(value)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == str([float(value)] * 8)
    assert not list(tmp_path.rglob("*step*.nb?"))


def test_files_that_were_read_are_known_and_an_unchanged_file_is_imported_once(tmp_path, monkeypatch):
    write(tmp_path, 3)
    monkeypatch.setenv("LABORATORY", "3")
    first = load_function(tmp_path / "mine.py", "step")
    found = import_file(tmp_path / "mine.py").hashes()
    assert {Path(name).name for name in found} == {"mine.py", "near.py", "far.py", "away.py", "further.py", "table.csv"}
    assert load_function(tmp_path / "mine.py", "step") is first


def test_a_link_that_is_set_to_another_file_is_a_change(tmp_path):
    for name in ("first", "other"):
        (tmp_path / f"{name}.txt").write_text(name)
    (tmp_path / "table.txt").symlink_to("first.txt")
    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\ntext = Path(__file__).with_name('table.txt').read_text()\n"
    )
    assert import_file(tmp_path / "mine.py").module.text == "first"
    (tmp_path / "table.txt").unlink()
    (tmp_path / "table.txt").symlink_to("other.txt")
    assert import_file(tmp_path / "mine.py").module.text == "other"


def test_the_modules_of_a_user_are_a_copy_of_their_own(tmp_path, monkeypatch):
    """Those of the program that runs halfreal stay as they are, such as the ones of a notebook."""
    write(tmp_path, 3)
    monkeypatch.setenv("LABORATORY", "3")
    monkeypatch.syspath_prepend(tmp_path)
    import near  # type: ignore[import-not-found]

    write(tmp_path, 5)
    assert outputs(tmp_path)[0] == 5.0
    assert near.LIMIT == 3.0 and sys.modules["near"] is near
    assert str(tmp_path) in sys.path
    monkeypatch.delitem(sys.modules, "near")
    monkeypatch.delitem(sys.modules, "further")


def test_a_file_that_cannot_be_imported_leaves_nothing_behind(tmp_path):
    (tmp_path / "mine.py").write_text("import other\ndef step(p, s, t, u, y):\n    return 0\n")
    (tmp_path / "other.py").write_text("x = 1 / 0\n")
    before, path = set(sys.modules), list(sys.path)
    with pytest.raises(UserFunctionError, match=r"mine\.py cannot be loaded: ZeroDivisionError.*mine\.py, line 1"):
        load_function(tmp_path / "mine.py", "step")
    assert set(sys.modules) == before and sys.path == path
    (tmp_path / "other.py").write_text("x = 1\n")
    assert load_function(tmp_path / "mine.py", "step") is not None


# --- functions that are given as they are, as in a notebook -----------------------------------------------------------

GAIN = 2.0
CURVE = np.array([1.0, 2.0])


def gained(x):
    return GAIN * x


def gaining_step(p, s, t, u, y):
    y[0] = gained(CURVE[1])
    return 0


def test_a_function_is_compiled_again_when_what_it_takes_from_around_it_has_changed(monkeypatch):
    def value() -> float:
        block = Block("guard", gaining_step, (), (Channel("y", "1"),))
        return float(Loop([block], dt=1.0).run(1, record=["y"]).log[0, 1])

    assert value() == 4.0
    first = closed_over(gaining_step)
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 3.0)
    assert value() == 6.0
    monkeypatch.setattr(sys.modules[__name__], "CURVE", np.array([1.0, 5.0]))
    assert value() == 15.0
    monkeypatch.undo()
    assert closed_over(gaining_step) == first and value() == 4.0


# --- slow and endless functions ---------------------------------------------------------------------------------------


def endless_step(p, s, t, u, y):
    while p.go > 0.0:
        y[0] += 1.0
    return 0


def quick_step(p, s, t, u, y):
    y[0] = 1.0
    return 0


def block(step) -> Block:
    return Block("mine", step, (), (Channel("y", "1"),), {"go": 1.0})


def test_a_function_that_does_not_end_is_refused_with_the_time_it_took():
    words = r"block 'mine': endless_step does not finish at rest: it was stopped after 100,000,000 passes .* s;"
    with pytest.raises(UserFunctionError, match=words):
        try_out(block(endless_step))


def test_a_slow_function_is_refused_with_the_time_it_took(monkeypatch):
    try_out(block(quick_step))
    monkeypatch.setattr("halfreal.kernels.user.LONGEST_CALL", 0.0)
    with pytest.raises(UserFunctionError, match=r"quick_step took .* s for one call at rest; the limit is 0 s"):
        try_out(block(quick_step))


def test_a_file_that_does_not_end_when_it_is_imported_is_refused_with_the_line(tmp_path, monkeypatch):
    monkeypatch.setattr("halfreal.kernels.patience.LONGEST", 0.1)
    text = "x = 0\nwhile True:\n    try:\n        x += 1\n    except Exception:\n        pass\n"
    (tmp_path / "mine.py").write_text(f"{text}def step(p, s, t, u, y):\n    return 0\n")
    words = r"mine.py cannot be loaded: it did not finish within 0.1 s, and was stopped at mine.py, line [234]"
    with pytest.raises(UserFunctionError, match=words):
        load_function(tmp_path / "mine.py", "step")
