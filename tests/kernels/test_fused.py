"""Rows that are fused into one piece of code do what the general loop does, to the bit."""

import llvmlite.binding as llvm
import numpy as np
import pytest

import halfreal
from examples.scripts import GALLERY
from halfreal.kernels import disk_cache, fused, loop
from halfreal.kernels.block import Block, Channel
from halfreal.kernels.loop import Loop
from halfreal.kernels.objects import needed, translated
from halfreal.kernels.tick import GUARD_FAILED, RAISED, compiled_run
from kernels import blocks
from kernels.like_own import fused_like_own

TESTS = (
    "spring_mass_damper/forward_prediction",
    "spring_mass_damper/adaptive",
    "spring_mass_damper/with_friction",
    "force_controlled_bar/baumgarte",
    "force_controlled_bar/index_one",
    "harmonic_feedforward/lms",
    "harmonic_feedforward/rls_simultaneous",
    "limit_cycles/hardening_yielding",
    "marths_benchmark/rodeac",
    "pseudo_dynamic_frame/operator_splitting",  # a slow test: it holds its tick
    "shaking_table_rod/rod",
    "shaking_table_six_axes/six_axes",
    "strut_braced_wing/single_gust",
    "vrths_benchmark/case_4",
    "vrths_benchmark/case_4_adaptive",
)
INTERPRETERS = ("Py", "_Py", "NRT_", "numba_")
"""How names begin that compiled code would need if it took the interpreter's lock, allocated or built objects."""


@pytest.fixture
def not_kept(monkeypatch):
    """Blocks of a test are fused like halfreal's own, and nothing of them is kept on disk."""
    fused_like_own(monkeypatch)


def both(build, ticks: int) -> Loop:
    """The same loop, general and fused, must do the same; the fused one after some ticks."""
    general, whole = build(), build()
    general.general = True
    assert whole.fuse()
    names = [channel.name for channel in general.channels]
    first, second = (one.run(ticks, record=names) for one in (general, whole))
    assert (first.ended, first.ticks, first.events) == (second.ended, second.ticks, second.events)
    np.testing.assert_array_equal(first.log, second.log)
    np.testing.assert_array_equal(general.vector[general._end_of_bus :], whole.vector[whole._end_of_bus :])
    return whole


@pytest.mark.parametrize("name", TESTS)
def test_loops_of_the_gallery_give_the_same_bits_and_need_no_interpreter(name):
    test = halfreal.load(GALLERY / f"{name}.toml")
    whole = both(lambda: halfreal.build(test), 2000)
    content = disk_cache.kept(f"fused-{whole._arrangement.key}")
    assert content is not None and interpreters(content) == []


def interpreters(content: bytes) -> list[str]:
    """What an object needs of the interpreter, or of Numba's memory."""
    return [name for name in needed(content) if name.startswith(INTERPRETERS)]


def test_the_general_loop_and_its_blocks_need_no_interpreter():
    blocks_of = halfreal.build(halfreal.load(GALLERY / f"{TESTS[0]}.toml"))._arrangement.rows
    for native in (compiled_run.native, *(row.native for row in blocks_of)):
        assert native.content and interpreters(native.content) == []


def test_code_that_takes_the_interpreters_lock_is_noticed():
    code = "declare i32 @PyGILState_Ensure()\ndefine i32 @f() { %a = call i32 @PyGILState_Ensure() ret i32 %a }"
    assert interpreters(translated(llvm.parse_assembly(code).as_bitcode())) == ["PyGILState_Ensure"]


def watched(when: float, step=blocks.code_step) -> Block:
    return Block("faulty", step, (), (Channel("faulty", "s"),), {"when": when})


@pytest.mark.parametrize(
    ("step", "fault"), [(blocks.code_step, 2007.0), (blocks.raising_step, 2000.0 + RAISED)], ids=["returns", "raises"]
)
def test_the_first_fault_stays_and_the_rows_go_on(not_kept, step, fault):
    def build() -> Loop:
        rig = blocks.passing("rig", "target", "force")
        return Loop(
            [blocks.oscillator(), watched(0.01, step), blocks.passing("guard", "target", "command")],
            outer=[rig],
            dt=1e-3,
        )

    assert both(build, 40).vector[1] == fault


def test_a_guard_that_fails_ends_the_stretch(not_kept):
    def build() -> Loop:
        return Loop([blocks.oscillator(), watched(0.01)], outer=[blocks.passing("rig", "target", "force")], dt=1e-3)

    whole = both(build, 40)
    assert whole.run(1).ended == GUARD_FAILED


def test_faults_of_the_rig_reach_the_next_tick(not_kept):
    def build() -> Loop:
        seen = blocks.passing("seen", "loop.rig_fault", "seen")
        rig = [blocks.passing("rig", "target", "force"), watched(0.01)]
        return Loop([blocks.oscillator(), seen], inner=rig, dt=1e-3, substeps=3)

    whole = both(build, 40)
    assert whole.vector[whole.index["seen"]] == 1.0


def test_blocks_of_users_are_not_fused():
    mine = Loop([blocks.oscillator()], outer=[blocks.passing("rig", "target", "force")], dt=1e-3)
    assert not mine.fuse()


def test_what_is_kept_is_used_and_what_is_damaged_is_made_anew(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(disk_cache, "folder", lambda: tmp_path)
    monkeypatch.delenv(disk_cache.TOLD, raising=False)
    monkeypatch.setattr(fused, "_loaded", {})
    test = halfreal.load(GALLERY / f"{TESTS[0]}.toml")
    assert not halfreal.build(test).fuse(make=False)
    assert halfreal.build(test).fuse()
    (kept,) = tmp_path.iterdir()
    content = kept.read_bytes()
    monkeypatch.setattr(fused, "_loaded", {})
    monkeypatch.setattr(fused, "_emitted", None)
    assert halfreal.build(test).fuse()
    kept.write_bytes(content[:-1] + b"!")
    monkeypatch.setattr(fused, "_loaded", {})
    assert not halfreal.build(test).fuse(make=False)
    assert "damaged" in capsys.readouterr().err and not kept.exists()


def test_a_loop_is_fused_once_it_has_run_for_long(monkeypatch, tmp_path):
    monkeypatch.setattr(disk_cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(fused, "_loaded", {})
    monkeypatch.setattr(loop, "_calls", {})
    test = halfreal.load(GALLERY / f"{TESTS[0]}.toml")
    first = halfreal.build(test)
    monkeypatch.setattr(loop, "PAYS", 3000 * len(first.blocks))
    first.run(2000)
    assert list(tmp_path.iterdir()) == []
    halfreal.build(test).run(2000)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_held_tick_goes_on_from_the_block_that_the_loop_names():
    held = [blocks.oscillator(), blocks.passing("early", "target", "early"), blocks.passing("mover", "early", "held")]
    rig = blocks.passing("rig", "held", "force")
    assert Loop(held, outer=[rig], dt=1e-3, hold="held")._arrangement.mover == 2
    assert Loop(held, outer=[rig], dt=1e-3, hold="held", held_from="early")._arrangement.mover == 1
