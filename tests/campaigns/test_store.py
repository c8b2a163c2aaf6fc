"""The store of a campaign: one row for each point, never two, and only of the campaign it was made for."""

import sqlite3

import numpy as np
import pytest

from examples.wallace2005 import definition
from halfreal.campaigns.plan import Plan, lay_out
from halfreal.campaigns.store import Column, PointResult, Store, StoreError, fingerprint, load_results

pytestmark = pytest.mark.xdist_group("campaign")
PLAN = Plan(
    vary={"rig.actuator.delay": ["7 ms", "8 ms", "9 ms", "10 ms"]}, scores=("rms gap", "closest limit"), check=False
)
SCORES = (Column("rms gap", "m"), Column("closest limit", ""))


def opened(path, plan=PLAN, test=None):
    test = definition() if test is None else test
    return Store(path, test, plan, lay_out(plan, test), SCORES, {"definition": "as written"})


def result(point, gap=1.0, **more):
    return PointResult(point, **{"status": "done", "outcome": "completed", "scores": {"rms gap": gap}, **more})


def test_what_is_added_is_there_again(tmp_path):
    store = opened(tmp_path / "r.sqlite")
    store.add([result(3, 0.5, seconds=2.0), result(1, float("inf"))], {3: "r.runs/000003.h5"})
    store.add([PointResult(2, "failed", reason="no reason")], {})
    assert store.missing() == [4]
    store.close()
    found = load_results(tmp_path / "r.sqlite")
    np.testing.assert_array_equal(found["point"], [1, 2, 3])
    np.testing.assert_array_equal(found["rig.actuator.delay"], [7e-3, 8e-3, 9e-3])
    np.testing.assert_array_equal(found["rms gap"], [np.nan, np.nan, 0.5])
    assert found["run_file"].tolist() == ["", "", "r.runs/000003.h5"]
    assert (found.points, len(found), found.failed) == (4, 3, 1)
    assert found["reason"][1] == "no reason"
    rows = (
        sqlite3.connect(tmp_path / "r.sqlite").execute('SELECT "rig.actuator.delay", "rms gap" FROM points').fetchall()
    )
    assert rows == [(7e-3, None), (8e-3, None), (9e-3, 0.5)], "for any program"


def test_a_point_is_never_there_twice_and_a_batch_never_in_part(tmp_path):
    store = opened(tmp_path / "r.sqlite")
    store.add([result(1)], {})
    with pytest.raises(StoreError, match="another campaign writes to it"):
        store.add([result(2), result(1)], {})
    assert store.missing() == [2, 3, 4]
    store.close()


def test_a_store_is_taken_up_by_the_same_campaign_alone(tmp_path):
    path = tmp_path / "r.sqlite"
    store = opened(path)
    store.add([result(2)], {})
    store.close()
    again = opened(path, PLAN.model_copy(update={"title": "another look", "maximise": "rms gap"}))
    assert again.missing() == [1, 3, 4]
    again.close()
    assert load_results(path).about["title"] == "another look"
    assert load_results(path).goal == (SCORES[0], True)
    other = PLAN.model_copy(update={"vary": {"rig.actuator.delay": ["7 ms", "8 ms", "9 ms", "11 ms"]}})
    with pytest.raises(StoreError, match=r"contains 1 points of another plan.* overwrite it"):
        opened(path, other)
    with pytest.raises(StoreError, match="another definition"):
        opened(path, test=definition(step=2e-3))


def test_files_of_other_kinds_are_left_alone(tmp_path):
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 40)
    with sqlite3.connect(tmp_path / "other") as connection:
        connection.execute("CREATE TABLE mine (value TEXT)")
    connection.close()
    for name in ("text", "other"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match="does not contain the results of a campaign"):
            opened(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    with pytest.raises(StoreError, match="does not exist; create it first"):
        opened(tmp_path / "nowhere" / "r.sqlite")
    with pytest.raises(StoreError, match="does not exist"):
        load_results(tmp_path / "nothing")


def test_a_file_that_the_definition_names_belongs_to_it(tmp_path):
    record = tmp_path / "quake.csv"
    record.write_text("0\n1\n0\n")
    given = {"kind": "record", "acceleration": 1.0, "file": record, "time_step": 0.01}
    test = definition(excitation={"virtual": given})
    before = fingerprint(test)
    assert fingerprint(test) == before
    record.write_text("0\n2\n0\n")
    assert fingerprint(test) != before


def test_best_points_are_completed_and_go_with_the_least_or_the_most(tmp_path):
    plan = PLAN.model_copy(update={"scores": ("rms gap", "verdict")})
    store = Store(
        tmp_path / "r.sqlite", definition(), plan, lay_out(plan, definition()),
        (Column("rms gap", "m"), Column("verdict", "")), {},
    )  # fmt: skip
    for point, gap, outcome, verdict in (
        (1, 3.0, "completed", "GO"), (2, 1.0, "tripped", "NO-GO"),
        (3, 2.0, "completed", "GO"), (4, 0.0, "completed", "NO-GO"),
    ):  # fmt: skip
        store.add([PointResult(point, "done", outcome, scores={"rms gap": gap, "verdict": verdict})], {})
    store.close()
    found = load_results(tmp_path / "r.sqlite")
    assert found["point"][found.best()].tolist() == [3, 1]
