"""The rig's end on an emulated microcontroller keeps its own clock while nothing comes to wake it."""

from __future__ import annotations

from pathlib import Path

import pytest

from links.board import bridge, build, emulated, is_installed
from links.by_hand import ARMED, NO_COMMAND, SAFE, Controller

LEASE, STEPS = 0.3, 3000


@pytest.mark.skipif(not is_installed(), reason="no microcontroller: install gcc-arm-none-eabi and qemu-system-arm")
def test_a_board_steps_and_ends_the_lease_although_it_receives_nothing(tmp_path: Path) -> None:
    """Its sleep between two steps must not outlast an alarm that was set too late."""
    program = build(tmp_path, "-DIN_STEP=false", "-DHR_AUXILIARY=1")
    with (
        emulated(program) as (terminal, _),
        bridge(terminal) as port,
        Controller(port, auxiliary=1) as by_hand,
    ):
        by_hand.arm(LEASE)
        heard = [by_hand.measurement()]
        while heard[-1].state == ARMED and len(heard) < STEPS:
            heard.append(by_hand.measurement())
    assert (heard[-1].state, heard[-1].code) == (SAFE, NO_COMMAND)
    assert 1e-9 * (heard[-1].timestamp - heard[0].timestamp) >= LEASE - 0.01
