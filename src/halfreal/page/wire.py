"""The door between a session and its page's process: messages as JSON, one a packet, with descriptors handed along."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from typing import Any

SMALL = 32_768
"""Bytes of a packet; a longer message is put into memory of its own, whose descriptor is sent."""
IN_MEMORY = b"in memory"
MOST_DESCRIPTORS = 4


def pair() -> tuple[socket.socket, socket.socket]:
    """The two sides of a door."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return here, there


def send(door: socket.socket, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
    data = json.dumps(message).encode()
    if len(data) <= SMALL:
        socket.send_fds(door, [data], list(descriptors))
        return
    memory = os.memfd_create("halfreal message")
    try:
        with os.fdopen(os.dup(memory), "wb") as file:
            file.write(data)
        socket.send_fds(door, [IN_MEMORY], [memory, *descriptors])
    finally:
        os.close(memory)


def receive(door: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next message and the descriptors that came with it, which the caller closes; None: the other side has
    ended."""
    data, descriptors, _, _ = socket.recv_fds(door, 2 * SMALL, MOST_DESCRIPTORS)
    if not data:
        return None
    if data == IN_MEMORY:
        with os.fdopen(descriptors.pop(0), "rb") as file:
            file.seek(0)
            data = file.read()
    message = json.loads(data)
    assert isinstance(message, dict)
    return message, descriptors
