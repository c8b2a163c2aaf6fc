"""The files of halfreal from which a function is compiled: its own, and those of all that it takes from around it.

They are found in the sources, not in the values: of a name, the statements that give it one, and of these all names in
turn, over imports into other files.  A table that is computed from other modules' constants belongs to them too.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .origin import OWN

MACHINERY = ("compile", "compiler", "entry", "objects", "record", "sizes")
"""Modules of ``kernels`` that decide what any function is compiled to."""


@cache
def digest_of(file: str) -> str:
    """Hash of a file of halfreal's by its path within the package; empty if there is none."""
    try:
        return hashlib.sha256((OWN / file).read_bytes()).hexdigest()
    except OSError:
        return ""


def sources_of(module: str, name: str) -> list[str]:
    """Paths within the package, in order."""
    seen = set[tuple[str, str]]()
    always = {f"kernels/{one}.py" for one in MACHINERY}
    files, left = set(always), [(module, name)]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        path = _path(one[0])
        if path is not None and path.relative_to(OWN).as_posix() not in always:  # what compiles is taken as a whole
            found = _Names.of(path, one[0])
            files.add(path.relative_to(OWN).as_posix())
            left += found.used_by(one[1])
    return sorted(files)


@cache
def _path(module: str) -> Path | None:
    """The file of a module of halfreal's."""
    package, *rest = module.split(".")
    if package != OWN.name:
        return None
    place = OWN.joinpath(*rest)
    return next((one for one in (place.with_suffix(".py"), place / "__init__.py") if rest and one.is_file()), None)


class _Names:
    """Where the names of a module come from."""

    def __init__(self, path: Path, module: str) -> None:
        self._module = module
        self._package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        self._imported = dict[str, tuple[str, str]]()
        self._stated = defaultdict[str, list[ast.AST]](list)
        self._always: list[ast.AST] = []
        """Statements that may change any name."""
        for node in self._top(ast.parse(path.read_bytes())):
            self._note(node)

    @classmethod
    def of(cls, path: Path, module: str) -> _Names:
        return _names(path, module)

    def used_by(self, name: str) -> Iterator[tuple[str, str]]:
        """Modules and their names that a name depends on."""
        if name in self._imported:
            yield self._imported[name]
            return
        for node in (*self._stated[name], *self._always):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name):
                    yield self._module, inner.id
                elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    base = self._imported.get(inner.value.id)
                    if base is not None:  # of a module: only what is taken of it
                        yield ".".join(filter(None, base)), inner.attr

    def _top(self, body: ast.AST) -> Iterator[ast.stmt]:
        """Statements of the module, with those of its conditions."""
        for node in ast.iter_child_nodes(body):
            if isinstance(node, ast.If | ast.Try):
                yield from self._top(node)
            elif isinstance(node, ast.stmt):
                yield node

    def _note(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom):
            base = self._package.rsplit(".", node.level - 1)[0] if node.level > 0 else ""
            module = ".".join(filter(None, (base, node.module or "")))
            for one in node.names:
                self._imported[one.asname or one.name] = (module, one.name)
        elif isinstance(node, ast.Import):
            for one in node.names:
                self._imported[one.asname or one.name.partition(".")[0]] = (one.name, "")
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            self._stated[node.name].append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        self._stated[inner.id].append(node)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            self._always.append(node)


@cache
def _names(path: Path, module: str) -> _Names:
    return _Names(path, module)
