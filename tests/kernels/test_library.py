"""The library of compiled functions: what it holds, and what is compiled where it does not fit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.contracts.context import OPEN_LOOP, RUN
from halfreal.definition.faults import DefinitionError
from halfreal.kernels import disk_cache, library, sources, worker
from halfreal.kernels.entry import _entries
from halfreal.kernels.tick import compiled_run

EXAMPLE = GALLERY / "spring_mass_damper" / "forward_prediction.toml"
SMALL = "halfreal.models.excitations.channel:channel_step | gain | last time begun"
DEFINITIONS = [*sorted(GALLERY.rglob("*.toml")), *sorted(Path(halfreal.__file__).parent.glob("*.toml"))]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No function is loaded yet, and nothing is kept in the cache."""
    monkeypatch.setattr(disk_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "_found", {})
    return tmp_path


def with_library(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = library.Library(path)
    monkeypatch.setattr(library, "library", lambda: there)


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_gallery_and_templates_need_no_function_beyond_the_list(path: Path, monkeypatch: pytest.MonkeyPatch):
    """If this fails, run these tests, then ``python -m halfreal.kernels.build --add-used``."""
    known, needed = set(library.listed()), set[str]()
    usual = library.native

    def native(function: str):
        needed.add(function)
        return usual(function)

    monkeypatch.setattr(library, "native", native)
    try:
        test = halfreal.load(path)
    except DefinitionError:
        pytest.skip("a plan, or a definition that needs a file which its example makes")
    for purpose in (RUN, OPEN_LOOP):
        halfreal.build(test, purpose)
    assert needed - known == set()


def test_the_list_has_every_function_that_python_calls_and_none_that_is_gone():
    halfreal.build(halfreal.load(EXAMPLE))
    known = library.listed()
    assert known == sorted(set(known))
    own = {text for text in _entries if text.startswith("halfreal.")}
    assert not own - set(known)
    for text in known:
        module, _, name = text.partition(" ")[0].partition(":")
        assert f"def {name}(" in (sources._path(module) or Path()).read_text(encoding="utf-8")


def test_a_check_after_installation_compiles_nothing_and_loads_no_numba(tmp_path: Path):
    ask = (
        "import sys, halfreal\n"
        f"answer = halfreal.check(halfreal.load({str(EXAMPLE)!r}))\n"
        "print(answer.verdict, 'numba' in sys.modules, 'pint' in sys.modules)"
    )
    where = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env=where).stdout
    assert said.split() == ["GO", "False", "False"]
    assert not list((tmp_path / "halfreal").glob(f"{library.KEPT}*"))


def test_what_the_library_does_not_have_is_compiled_once_for_the_user(empty: Path, monkeypatch: pytest.MonkeyPatch):
    with_library(empty / "none", monkeypatch)
    first = library.native(SMALL)
    (kept,) = empty.glob(f"{library.KEPT}*")
    assert library.used() == [SMALL]
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.setattr(library, "_found", {})
    monkeypatch.setattr(worker, "compiled", None)
    assert library.native(SMALL).digest == first.digest
    assert kept.exists()


def test_a_library_that_is_damaged_or_of_other_sources_or_of_a_newer_llvm_is_not_used(
    empty: Path, monkeypatch: pytest.MonkeyPatch
):
    copy = empty / "copy.library"
    whole = library.PATH.read_bytes()
    payload = library.library().payload(SMALL)
    assert payload is not None
    at = whole.index(payload) + len(payload) // 2
    copy.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert library.Library(copy).payload(SMALL) is None
    assert library.Library(copy).payload(compiled_run.text) is not None
    copy.write_bytes(whole.replace(b'{"llvm": ', b'{"llvm": 9', 1))
    assert library.Library(copy).payload(SMALL) is None
    copy.write_bytes(whole[: len(whole) // 100])
    assert library.Library(copy).payload(SMALL) is None
    monkeypatch.setattr(library, "digest_of", lambda file: "another")
    assert library.library().payload(SMALL) is None


def test_a_function_that_cannot_be_compiled_is_named_with_the_reason(empty: Path):
    wrong = "halfreal.models.excitations.channel:channel_step | other | last time begun"
    with pytest.raises(worker.WorkerError, match=r"channel_step.*gain"):
        library.native(wrong)


# --- sources ----------------------------------------------------------------------------------------------------------

MODULES = {
    "block.py": """
from . import tables
from .helpers import helper as help_it, unused
from .limits import LIMIT
LATE = 2 * LIMIT
def step(p, s, t, u, y):
    y[0] = help_it(LATE) + tables.VALUES[0]
    return 0
""",
    "helpers.py": "from .deep import deep\ndef helper(x):\n    return deep(x)\ndef unused():\n    import never\n",
    "deep.py": "def deep(x):\n    return x\n",
    "limits.py": "from .base import BASE\nLIMIT = BASE + 1.0\n",
    "base.py": "BASE = 1.0\n",
    "tables.py": "from .made import make\nVALUES = make()\n",
    "made.py": "def make():\n    return (1.0,)\n",
    "never.py": "it = 1\n",
}


def test_the_files_of_a_function_are_those_of_all_that_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    package = tmp_path / "ours"
    package.mkdir()
    for name, text in MODULES.items():
        (package / name).write_text(text)
    monkeypatch.setattr(sources, "OWN", package)
    sources._path.cache_clear()
    found = set(sources.sources_of("ours.block", "step")) - {f"kernels/{one}.py" for one in sources.MACHINERY}
    sources._path.cache_clear()
    assert found == set(MODULES) - {"never.py"}


def test_an_edit_of_a_constant_is_noticed_and_one_elsewhere_is_not(tmp_path: Path):
    """The sources of a compiled function are compared by their content, not by their times."""
    package = tmp_path / "halfreal"
    leave_out = shutil.ignore_patterns("examples", "__pycache__")
    shutil.copytree(Path(halfreal.__file__).parent, package, ignore=leave_out)
    ask = f"from halfreal.kernels import library; print(library.library().payload({SMALL!r}) is not None)"
    where = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}

    def fits() -> str:
        return subprocess.run([sys.executable, "-c", ask], env=where, capture_output=True, text=True).stdout.strip()

    assert fits() == "True"
    (package / "safety" / "guard.py").write_text("")
    assert fits() == "True"
    file = package / "models" / "excitations" / "channel.py"
    file.write_text(file.read_text() + "\n# another line\n")
    assert fits() == "False"
