"""Packages whose parts are imported on first use: ``halfreal --help`` must not wait for the compiler.

Such a package lists its names twice: to type checkers as imports, and to Python by the modules that hold them::

    if TYPE_CHECKING:
        from .sensors import Sensors as Sensors
    else:
        __getattr__, __dir__, __all__ = lazy(__name__, {"sensors": "Sensors"})

A test sees that the two agree.  No name may be that of a module of the package, which Python would put in its place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], tuple[str, ...]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``homes`` holds modules below the package, each with its names, separated by blanks; the names of the empty module
    are packages themselves.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        if not modules[name]:
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    def listed() -> list[str]:
        return sorted(modules)

    return find, listed, tuple(modules)


def load_later(*modules: str) -> None:
    """Have modules of other packages loaded when something of them is used, and not when they are imported."""
    from importlib.util import LazyLoader, find_spec, module_from_spec

    for name in modules:
        package, _, last = name.rpartition(".")
        spec = None if name in sys.modules else find_spec(name)
        if spec is None or spec.loader is None:
            continue
        spec.loader = LazyLoader(spec.loader)
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(sys.modules[package], last, module)
