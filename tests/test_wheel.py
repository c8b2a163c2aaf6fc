"""The package as it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import halfreal

REPOSITORY = Path(__file__).parents[1]
SHIPPED = (".py", ".toml", ".j2", ".typed", ".csv", ".md", ".html", ".css", ".js", ".c", ".h", ".xml")
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.egg-info", "results")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a source distribution of a copy: a build leaves files next to its sources."""
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("needs setuptools 77")
    subprocess.run([sys.executable, "-m", "halfreal.kernels.build"], check=True, capture_output=True)  # as make does
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("src", "examples"):
        shutil.copytree(REPOSITORY / name, folder / "source" / name, symlinks=True, ignore=LEFT_OUT)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, folder / "source")
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    command = [sys.executable, "-c", build]
    done = subprocess.run(command, cwd=folder / "source", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = folder.glob("*.tar.gz")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet")
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(archive)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    source = wheel.parent / "source" / "src"
    files = [Path(folder) / name for folder, _, found in os.walk(source, followlinks=True) for name in found]
    expected = {str(path.relative_to(source)) for path in files if path.suffix in SHIPPED}
    assert {"halfreal/py.typed", "halfreal/new.toml", "halfreal/presentation/report.html.j2"} <= names
    assert not expected - names
    for gallery in (path for path in (REPOSITORY / "examples").glob("*/*.toml") if "results" not in path.parts):
        assert f"halfreal/{gallery.relative_to(REPOSITORY).as_posix()}" in names
    benchmarks = {"vrths_benchmark/synthetic.csv", "marths_benchmark/mass.csv", "marths_benchmark/stiffness.csv"}
    assert {f"halfreal/examples/{name}" for name in benchmarks} <= names


def test_its_version_is_the_packages(wheel: Path, tmp_path: Path) -> None:
    assert wheel.name.startswith(f"halfreal-{halfreal.__version__}-")
    zipfile.ZipFile(wheel).extractall(tmp_path)
    where = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code = "import halfreal, importlib.metadata as m; print(halfreal.__file__, m.version('halfreal'))"
    for words, told in (
        (("-m", "halfreal", "--version"), f"halfreal {halfreal.__version__}"),
        (("-c", code), f"{tmp_path / 'halfreal' / '__init__.py'} {halfreal.__version__}"),
    ):
        command = [sys.executable, *words]
        answer = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=where, check=True)
        assert answer.stdout.strip() == told
    command = [sys.executable, "-m", "halfreal", "examples", "spring_mass_damper"]
    subprocess.run(command, capture_output=True, cwd=tmp_path, env=where, check=True)
    assert (tmp_path / "spring_mass_damper" / "forward_prediction.toml").is_file()


def test_an_installation_from_it_compiles_nothing(wheel: Path, tmp_path: Path) -> None:
    """A check and a rehearsal, fused too, in a folder of its own, with an empty cache; Numba is not loaded."""
    options = ("--no-deps", "--no-index", "--disable-pip-version-check", "--quiet")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(tmp_path / "site"), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    where = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    ask = (
        "import sys, halfreal\n"
        "from pathlib import Path\n"
        "test = halfreal.load(Path(halfreal.__file__).with_name('new.toml'))\n"
        "verdict = halfreal.check(test).verdict\n"
        "halfreal.rehearse(test)\n"
        "fused = halfreal.build(test).fuse()\n"
        "print(Path(halfreal.__file__).parents[1].name, verdict, fused, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", ask], cwd=tmp_path, env=where, capture_output=True, text=True)
    assert done.stdout.split() == ["site", "GO", "True", "False"], done.stderr
    assert [path.name.partition("-")[0] for path in (tmp_path / "cache" / "halfreal").iterdir()] == ["fused"]
