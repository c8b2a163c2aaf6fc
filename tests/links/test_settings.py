"""What cannot be where a rig is, and errors that name it, the limit and the remedy."""

from __future__ import annotations

import pytest

from halfreal.definition.kinds import reader
from halfreal.links.shared_memory import SharedMemory
from halfreal.links.udp import Udp


@pytest.mark.parametrize("rig", ["", "7411", "host:", "host:port", "host:-1", "host:65536", ":7411", "host:74.1"])
def test_an_address_that_is_none_is_refused(rig):
    with pytest.raises(ValueError, match=rf"'{rig}' is not the address .*host:port, e.g. '127\.0\.0\.1:7411'"):
        Udp(kind="udp", rig=rig)


@pytest.mark.parametrize(
    ("rig", "address"),
    [("127.0.0.1:7411", ("127.0.0.1", 7411)), ("lab.example:0", ("lab.example", 0)), ("::1:65535", ("::1", 65535))],
)
def test_an_address_is_host_and_port(rig, address):
    assert Udp(kind="udp", rig=rig).address == address


@pytest.mark.parametrize("name", ["", "a/b", "..", "a b", "ä", "x" * 65, "a\n"])
def test_a_name_that_is_no_plain_one_is_refused(name):
    with pytest.raises(ValueError, match="is not a valid name for shared memory; use up to 64 letters, digits"):
        SharedMemory(kind="shared memory", name=name)


@pytest.mark.parametrize("name", ["rig", "x" * 64, "Test-2_b"])
def test_a_plain_name_is_taken(name):
    assert SharedMemory(kind="shared memory", name=name).name == name


@pytest.mark.parametrize("lease", [0, -0.1, "0 s", "-5 ms"])
@pytest.mark.parametrize("kind", ["udp", "shared memory"])
def test_a_lease_is_longer_than_nothing(kind, lease):
    with pytest.raises(ValueError, match="must be greater than 0 s"):
        reader("link").validate_python({"kind": kind, "lease": lease})


@pytest.mark.parametrize("kind", ["udp", "shared memory"])
def test_a_lease_that_no_rig_grants_is_refused(kind):
    with pytest.raises(ValueError, match=r"20"):
        reader("link").validate_python({"kind": kind, "lease": "20 s"})


def test_a_lease_has_units_and_a_default():
    read = reader("link").validate_python
    assert read({"kind": "udp", "lease": "250 ms"}).lease == 0.25
    assert read({"kind": "shared memory"}).lease == 0.1


def test_another_kind_of_link_is_refused_with_those_there_are():
    with pytest.raises(ValueError, match="'udp', 'shared memory', 'serial'"):
        reader("link").validate_python({"kind": "tcp"})
