"""Functions of compiled libraries as blocks."""

import hashlib

import numpy as np
import pytest
from typer.testing import CliRunner

import halfreal
from contracts.native import COMPILER, NO_COMPILER, compiled
from examples.scripts import GALLERY
from halfreal.cli import app
from halfreal.contracts.library import LibraryError
from halfreal.definition.load import to_toml
from halfreal.definition.paths import with_values
from halfreal.errors import HalfrealError
from halfreal.kernels import trust
from halfreal.runs import linearised

EXAMPLE = GALLERY / "user_functions"
pytestmark = pytest.mark.skipif(COMPILER is None, reason=NO_COMPILER)

BAD = """
#include <unistd.h>
#include <stdlib.h>
#include "halfreal_block.h"
HALFREAL_BLOCK(crashes) { (void)s, (void)t, (void)u, (void)p; y[0] = *(volatile double *)8; return 0; }
HALFREAL_BLOCK(leaves) { (void)s, (void)t, (void)u, (void)p, (void)y; _exit(3); }
HALFREAL_BLOCK(beyond) { (void)t, (void)u, (void)p; s[1] = 1.0; y[0] = 0.0; return 0; }
HALFREAL_BLOCK(nan_at_rest) { (void)s, (void)t, (void)p; y[0] = 0.0 / u[0]; return 0; }
HALFREAL_BLOCK(refuses) { (void)s, (void)t, (void)u, (void)p; y[0] = 0.0; return 7; }
HALFREAL_BLOCK(later) { (void)p, (void)u; y[0] = 0.0; s[0] = t; return t > 1.5 ? 12 : 0; }
HALFREAL_SIZES(sized, 2, 2, 3, 1);
HALFREAL_BLOCK(sized) { (void)s, (void)t, (void)u, (void)p; y[0] = 0.0; return 0; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("libraries")
    compiled(EXAMPLE / "mine.c", place / "mine.so")
    (place / "bad.c").write_text(BAD)
    compiled(place / "bad.c", place / "bad.so")
    (place / "text.so").write_text("not a library")
    return place


def in_c(folder, test):
    """The example's test with its functions in C."""
    parts = {"coupling": "lead_coupling", "rig.specimen": "friction_specimen"}
    changes = {}
    for place, name in parts.items():
        changes[f"{place}.kind"] = "library"
        changes[f"{place}.function"] = f"{folder / 'mine.so'}:{name}"
    return with_values(test, changes)


def coupled_by(folder, name, state=1):
    test = halfreal.load(EXAMPLE / "friction.toml")
    coupling = {
        "kind": "library",
        "function": f"{folder / 'bad.so'}:{name}",
        "parameters": {"a": 1.0},
        "state": {"memory": [0.0] * state},
    }
    return with_values(test, {"coupling": coupling})


def test_functions_in_c_give_the_same_bits_as_in_python(folder):
    test = halfreal.load(EXAMPLE / "friction.toml")
    plain, native = halfreal.rehearse(test), halfreal.rehearse(in_c(folder, test))
    for name in ("target", "command", "measured.force"):
        np.testing.assert_array_equal(plain.signals[name].values, native.signals[name].values)


def test_a_loop_with_functions_in_c_is_linearised_like_any_other(folder):
    test = halfreal.load(EXAMPLE / "friction.toml")
    plain, native = (linearised(one).matrix for one in (test, in_c(folder, test)))
    np.testing.assert_allclose(native, plain, rtol=1e-12, atol=1e-12)


def test_a_fault_of_a_function_trips_the_guard(folder):
    run = halfreal.rehearse(coupled_by(folder, "later"))
    assert any("12" in event.text and "trip" in event.text for event in run.events)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("crashes", "crashed when 'crashes' was called at rest, by signal 11"),
        ("leaves", "'leaves' ended its test process with exit code 3"),
        ("beyond", "'beyond' writes beyond its state, of which there are 1"),
        ("nan_at_rest", "output 0 of 'nan_at_rest' is (-)?nan at rest"),
        ("refuses", "'refuses' returned 7 at rest"),
        ("sized", "'sized' has 2 parameters, 2 state, 3 inputs, 1 outputs .* the definition gives .* 1 state"),
        ("missing", "has no function 'missing'"),
    ],
)
def test_what_is_wrong_at_rest_is_found_before_it_goes_into_a_loop(folder, name, words):
    with pytest.raises(LibraryError, match=words):
        halfreal.build(coupled_by(folder, name))


def test_a_file_that_is_no_library_or_not_there(folder):
    test = halfreal.load(EXAMPLE / "friction.toml")
    broken = with_values(test, {"coupling": {"kind": "library", "function": f"{folder / 'text.so'}:step"}})
    with pytest.raises(LibraryError, match="cannot be opened"):
        halfreal.build(broken)
    for reference, words in (("none.so:step", "there is no file"), ("mine.so", "does not name a function")):
        with pytest.raises(HalfrealError, match=words):
            with_values(test, {"coupling": {"kind": "library", "function": reference}})


def test_the_hashes_of_what_was_run_stand_in_the_run_file(folder, tmp_path):
    run = halfreal.rehearse(in_c(folder, halfreal.load(EXAMPLE / "friction.toml")))
    halfreal.save(run, tmp_path / "run.h5")
    digest = hashlib.sha256((folder / "mine.so").read_bytes()).hexdigest()
    assert halfreal.load_run(tmp_path / "run.h5").code == {"mine.so": digest}


def test_the_command_line_asks_before_a_library_is_opened(folder, tmp_path, monkeypatch):
    monkeypatch.delenv(trust.ALL, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    test = halfreal.load(EXAMPLE / "friction.toml")
    (tmp_path / "test.toml").write_text(to_toml(in_c(folder, test)))
    refused = CliRunner().invoke(app, ["check", str(tmp_path / "test.toml")])
    assert refused.exit_code == 2 and "mine.so" in refused.output and "--trust" in refused.output
