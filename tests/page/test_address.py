"""Where the page may be served."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra 'page'")

from halfreal.page.address import Address, PageError


@pytest.mark.parametrize("at", ["127.0.0.1:0", "localhost:0", "[::1]:8080", "127.1.2.3:80"])
def test_loopback_needs_no_certificate(at: str) -> None:
    assert Address.read(at, None, None).loopback


@pytest.mark.parametrize("at", ["0.0.0.0:0", "192.168.1.5:8443", "[::]:1", "lab.example:8443"])
def test_other_machines_are_served_with_tls_only(at: str) -> None:
    with pytest.raises(PageError, match="without TLS: give --page-certificate"):
        Address.read(at, None, None)


@pytest.mark.parametrize("at", ["", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ":80", "a:-1"])
def test_what_is_no_address_is_refused(at: str) -> None:
    with pytest.raises(PageError, match="write HOST:PORT"):
        Address.read(at, None, None)


def test_a_certificate_is_looked_at_before_anything_is_begun(tmp_path: Path) -> None:
    wrong = tmp_path / "cert.pem"
    wrong.write_text("no certificate")
    with pytest.raises(PageError, match="give both"):
        Address.read("lab.example:0", wrong, None)
    with pytest.raises(PageError, match="cannot be used"):
        Address.read("lab.example:0", wrong, wrong)
    with pytest.raises(PageError, match="the name or address that browsers use"):
        Address.read("0.0.0.0:0", wrong, wrong)


def test_a_port_that_is_taken_is_told() -> None:
    with Address().listen() as taken:
        port = taken.getsockname()[1]
        assert Address().url(taken) == f"http://127.0.0.1:{port}"
        with pytest.raises(PageError, match="choose another"):
            Address(port=port).listen()
