"""A rig that is put together in Python and commanded in force, behind a link: the beam test with nine harmonics."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import halfreal
from examples.beam import study
from halfreal.definition.load import to_toml
from live.processes import Process, assert_same, column

SHORT: dict[str, object] = {
    "timing.duration": "0.5 s",
    "timing.soft_stop": "0.1 s",  # without one a run comes home in limits.return_time, and a rehearsal just ends
    "coupling.identification_time": "0.2 s",
    "coupling.random_interval": "0.1 s",
    "limits.stale": {"trip": "20 s"},
    "limits.lateness": {"trip": "20 s"},  # a rig in step: time does not matter
    "acceptance": {"synchronisation": "none", "fidelity": "none"},  # it has not learnt yet
}


def test_a_run_of_the_beam_is_its_rehearsal_sample_for_sample(tmp_path: Path) -> None:
    """Identification and adaption included, in one session after another: left alone, the rig comes to rest."""
    link = {"kind": "udp", "rig": "127.0.0.1:0", "lease": "10 s"}
    file = tmp_path / "rig.toml"
    file.write_text(to_toml(study.square(9, {**SHORT, "link": link})))
    with Process(tmp_path, "rig", "rig", str(file), "--in-step") as rig:
        port = rig.until(r"listening on \S+?:(\d+)")[1]
        given = study.square(9, {**SHORT, "link": {**link, "rig": f"127.0.0.1:{port}"}})
        rehearsal = halfreal.rehearse(given)
        assert np.abs(column(rehearsal, "command.1")).max() > 0.1
        for number in range(2):
            run = halfreal.run(given, tmp_path / f"run_{number}.h5", without_go="too short to close its gap")
            assert (run.outcome, run.reason) == ("completed", "")
            assert_same(run, rehearsal)
