"""A shaking table with six axes behind a link: wing and store at 1 kHz."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import halfreal
from examples.shaking_table_six_axes import study
from halfreal.definition.load import to_toml
from live.processes import Process, assert_same, column


def test_a_run_of_six_axes_is_its_rehearsal_sample_for_sample(tmp_path: Path) -> None:
    given = study.definition().model_dump()
    given["timing"] |= {"duration": 0.4}
    given["limits"] |= {"stale": {"trip": 20.0}}
    given["acceptance"] = {"synchronisation": "none", "fidelity": "none"}  # so short a piece tells no errors
    given["real_time"] = {"pacing": "rig"}  # one tick for each measurement, however long it takes
    given["link"] = {"kind": "udp", "rig": "127.0.0.1:0", "lease": 10.0}
    file = tmp_path / "rig.toml"
    file.write_text(to_toml(halfreal.Definition.model_validate(given)))
    with Process(tmp_path, "rig", "rig", str(file), "--in-step") as rig:
        port = rig.until(r"listening on \S+?:(\d+)")[1]
        given["link"] |= {"rig": f"127.0.0.1:{port}"}
        test = halfreal.Definition.model_validate(given)
        rehearsal = halfreal.rehearse(test)
        for axis in test.interface.names:
            assert np.abs(column(rehearsal, f"measured.force.{axis}")).max() > 0.0
        run = halfreal.run(test, tmp_path / "run.h5")
        assert (run.outcome, run.reason) == ("completed", "")
        assert_same(run, rehearsal)
