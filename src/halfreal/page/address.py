"""Where the page is served, and that it is served to no one else: loopback, or with TLS."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ..errors import HalfrealError

NEEDED = ("starlette", "uvicorn", "websockets")


class PageError(HalfrealError):
    """The page cannot be served as asked."""


@dataclass(frozen=True)
class Address:
    """Host and port (0: any that is free), and for other hosts than this one a certificate and its key."""

    host: str = "127.0.0.1"
    port: int = 0
    certificate: Path | None = None
    key: Path | None = None

    @classmethod
    def read(cls, at: str, certificate: Path | None, key: Path | None) -> Address:
        """From the options of the command line, such as ``--page-at 192.168.1.5:8443``."""
        host, colon, port = at.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or not host:
            raise PageError(f"'{at}' is not an address; write HOST:PORT, e.g. 127.0.0.1:8080")
        found = cls(host.removeprefix("[").removesuffix("]"), int(port), certificate, key)
        found.check()
        return found

    @property
    def loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self) -> None:
        """Refuse what is not safe, or cannot work, before anything is begun."""
        missing = [name for name in NEEDED if find_spec(name) is None]
        if missing:
            raise PageError(f"the page needs {', '.join(missing)}; install it with: pip install 'halfreal[page]'")
        if (self.certificate is None) != (self.key is None):
            raise PageError("give both --page-certificate and --page-key")
        if not self.loopback and self.certificate is None:
            raise PageError(
                f"the page is not served to other machines ({self.host}) without TLS: give --page-certificate and "
                "--page-key, or serve it on 127.0.0.1 and connect through an SSH tunnel"
            )
        if self.host in ("0.0.0.0", "::"):
            raise PageError(
                f"{self.host} means all addresses of this machine; give the name or address that browsers use"
            )
        if self.certificate is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key)
            except (OSError, ssl.SSLError) as error:
                raise PageError(f"'{self.certificate}' and its key cannot be used: {error}") from error

    def listen(self) -> socket.socket:
        """The socket that browsers come to; it outlives a process that serves it."""
        try:
            family = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((self.host, self.port), family=family, backlog=128)
        except OSError as error:
            raise PageError(f"the page cannot be served at {self.host}:{self.port}: {error}; choose another") from error

    def url(self, listening: socket.socket) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{listening.getsockname()[1]}"
