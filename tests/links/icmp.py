"""ICMP messages in another's name, of which a socket hears as if that one had sent them; for root."""

from __future__ import annotations

import socket
import struct

Address = tuple[str, int]


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def send_in_the_name_of(far: Address, near: Address, kind: int, code: int) -> None:
    """Tell the socket at ``near``, which is connected to ``far``, that what it has sent there met an obstacle."""
    addresses = socket.inet_aton(near[0]) + socket.inet_aton(far[0])
    header = struct.pack(">BBHHHBBH", 0x45, 0, 36, 1, 0x4000, 64, socket.IPPROTO_UDP, 0) + addresses
    header = header[:10] + struct.pack(">H", _checksum(header)) + header[12:]
    sent = header + struct.pack(">HHHH", near[1], far[1], 16, 0) + bytes(8)
    message = struct.pack(">BBHI", kind, code, 0, 0) + sent
    message = message[:2] + struct.pack(">H", _checksum(message)) + message[4:]
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.sendto(message, (near[0], 0))
