"""Names that users import: short, lazy, and with their types."""

from __future__ import annotations

import ast
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import halfreal
from halfreal.definition.kinds import OWN

ROOT = Path(halfreal.__file__).parent
REPOSITORY = Path(__file__).parents[1]
SCRIPT = Path(__file__).with_name("typed_use.py")
LAZY = sorted(path for path in ROOT.glob("**/__init__.py") if "= lazy(" in path.read_text())


def name_of(path: Path) -> str:
    return ".".join(("halfreal", *path.parent.relative_to(ROOT).parts))


def told_to_type_checkers(path: Path) -> set[tuple[str, str]]:
    """Modules and names that a package imports where types are checked."""
    (block,) = [
        node
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    found = set()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom) and node.level == 1
        for one in node.names:
            assert one.asname == one.name, f"write 'import {one.name} as {one.name}': else it is not exported"
            found.add((node.module or "", one.name))
    return found


def told_to_python(path: Path) -> set[tuple[str, str]]:
    (call,) = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy"
    ]
    homes = ast.literal_eval(call.args[1])
    return {(module, name) for module, names in homes.items() for name in names.split()}


@pytest.mark.parametrize("path", LAZY, ids=name_of)
def test_type_checkers_and_python_are_told_the_same(path: Path) -> None:
    assert told_to_type_checkers(path) == told_to_python(path)


@pytest.mark.parametrize("path", LAZY, ids=name_of)
def test_every_name_is_found_and_is_no_module_of_its_package(path: Path) -> None:
    package = import_module(name_of(path))
    modules = {module.name for module in pkgutil.iter_modules([str(path.parent)])}
    for home, name in told_to_python(path):
        found = getattr(package, name)
        assert name in dir(package) and name in package.__all__
        assert found is (getattr(import_module(f"{package.__name__}.{home}"), name) if home else found)
        assert not home or name not in modules, f"{name} is a module of {package.__name__}, too"
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nonsense'"):
        _ = package.nonsense


@pytest.mark.parametrize("family", OWN)
def test_every_kind_is_imported_from_the_package_that_holds_it(family: str) -> None:
    for place in OWN[family].values():
        module, _, name = place.partition(":")
        assert name in import_module(f"halfreal.{module.split('.')[0]}").__all__


def test_the_compiler_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, halfreal, halfreal.cli, {}; print([m for m in ('numba', 'numpy', 'h5py') if m in sys.modules])"
    packages = ", ".join(name_of(path) for path in LAZY)
    answer = subprocess.run([sys.executable, "-c", code.format(packages)], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_gallery_and_the_documentation_need_no_deep_imports() -> None:
    deep = re.compile(r"(?:from|import) halfreal\.\w+\.\w+")
    files = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md"), *(REPOSITORY / "examples").rglob("*.*")]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md")}
    assert not [path for path, text in texts.items() if deep.search(text)]


REVEALED = 'note: Revealed type is "'
TOLD = (
    REVEALED + r'halfreal\.definition\.definition\.Definition"',
    REVEALED + r'halfreal\.runs\.run\.Run"',
    REVEALED + r'halfreal\.runs\.run\.Run"',
    REVEALED + r'halfreal\.definition\.definition\.Definition \| None"',
    REVEALED + r'def \(.*\) -> halfreal\.rigs\.shaking_table\.ShakingTable"',
    REVEALED + r'def \(.*\) -> halfreal\.models\.structures\.structure\.Structure"',
    r'error: Module has no attribute "rehears"; maybe "rehearse"\?  \[attr-defined\]',
    r'error: Argument 1 to "load" has incompatible type "int"; .*  \[arg-type\]',
)


@pytest.mark.skipif(find_spec("mypy") is None, reason="needs mypy")
def test_type_checkers_see_types() -> None:
    # Settings and paths are those of ``make lint``, whose cache is then used.
    script = str(SCRIPT.relative_to(REPOSITORY))
    where = {**os.environ, "MYPYPATH": os.path.relpath(ROOT.parent, REPOSITORY)}
    command = (sys.executable, "-m", "mypy", script)
    answer = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, env=where, check=False)
    told = [line.split(": ", 1)[1] for line in answer.stdout.splitlines() if line.startswith(script)]
    assert len(told) == len(TOLD), answer.stdout
    for line, pattern in zip(told, TOLD, strict=True):
        assert re.fullmatch(pattern, line), line


PUBLIC = [getattr(halfreal, name) for name in halfreal.__all__]
FUNCTIONS = [one for one in PUBLIC if inspect.isfunction(one)]
CLASSES = [one for one in PUBLIC if inspect.isclass(one)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_every_parameter_of_a_public_function_is_documented(function: Callable[..., Any]) -> None:
    _, _, listed = (inspect.getdoc(function) or "").partition("Parameters\n----------\n")
    listed = re.split(r"\n\w+\n-{4,}", listed)[0]
    documented = re.findall(r"^(\w+)(?: : .*)?$", listed, re.MULTILINE)
    assert documented == list(inspect.signature(function).parameters)
    assert len(re.findall(r"^    \S", listed, re.MULTILINE)) >= len(documented), "a parameter has no description"


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.__name__)
def test_every_public_member_of_a_public_class_is_documented(one: type) -> None:
    assert inspect.getdoc(one)
    own = {name: member for name, member in vars(one).items() if not name.startswith("_") and callable(member)}
    assert not [name for name, member in own.items() if inspect.isfunction(member) and not inspect.getdoc(member)]


MEMBERS = [
    (getattr(halfreal, owner), name)
    for owner, names in re.findall(
        r"autoclass:: (\w+)\n   :members: (.*)", (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
    )
    for name in names.split(", ")
]


@pytest.mark.parametrize(("owner", "name"), MEMBERS, ids=lambda one: getattr(one, "__name__", one))
def test_every_parameter_of_a_listed_method_is_documented(owner: type, name: str) -> None:
    member = inspect.getattr_static(owner, name)
    text = inspect.getdoc(member) or ""
    assert text
    if inspect.isfunction(member):
        parameters = [one for one in inspect.signature(member).parameters if one != "self"]
        _, _, listed = text.partition("Parameters\n----------\n")
        documented = re.findall(r"^(\w+)$", re.split(r"\n\w+\n-{4,}", listed)[0], re.MULTILINE)
        assert documented == parameters


def test_every_public_name_is_in_the_reference() -> None:
    page = (REPOSITORY / "docs" / "python.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"auto(?:function|class|exception):: (\w+)", page))
    modules = {name for name in halfreal.__all__ if inspect.ismodule(getattr(halfreal, name))}
    assert listed == set(halfreal.__all__) - modules


def test_modules_that_are_loaded_later_are_whole() -> None:
    code = (
        "from halfreal.lazy import load_later; load_later('numpy.f2py', 'numpy.testing', 'numpy.not_there');"
        "import sys, numpy, scipy.linalg; print('numpy.f2py.crackfortran' in sys.modules);"
        "numpy.testing.assert_allclose(1.0, 1.0); print(callable(numpy.f2py.main))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True"]
