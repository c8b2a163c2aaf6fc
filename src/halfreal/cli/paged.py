"""``--page``: a test that is operated from its page too, and ``halfreal page``: the page of a run file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import HalfrealError
from .options import WRONG, RunFile

if TYPE_CHECKING:
    from ..live.console import Operator
    from ..live.session import Session
    from ..page.address import Address
    from ..page.desk import PageDesk

ANY_PORT = "127.0.0.1:0"
WithPage = Annotated[bool, typer.Option("--page", help="Also operate the test from a page in the browser.")]
PageAt = Annotated[
    str, typer.Option("--page-at", metavar="HOST:PORT", help="Address of the page; port 0 picks a free one.")
]
PageCertificate = Annotated[
    Path | None,
    typer.Option("--page-certificate", metavar="CERT.pem", help="TLS certificate, required for other hosts."),
]
PageKey = Annotated[Path | None, typer.Option("--page-key", metavar="KEY.pem", help="Private key of the certificate.")]


def page_address(wanted: bool, at: str, certificate: Path | None, key: Path | None) -> Address | None:
    """Where the page is to be served, refused if it is not safe; None if none is wanted."""
    if not (wanted or at != ANY_PORT or certificate or key):
        return None
    from ..page.address import Address

    return Address.read(at, certificate, key)


def page_of(session: Session, operator: Operator, address: Address | None, start: bool, as_json: bool) -> Any:
    """The page of a session, for as long as this lasts and someone looks at it afterwards; or nothing."""
    return nullcontext() if address is None else _page_of(session, operator, address, start, as_json)


@contextmanager
def _page_of(session: Session, operator: Operator, address: Address, start: bool, as_json: bool) -> Iterator[PageDesk]:
    from ..live.console import check_operator
    from ..page.desk import PageDesk

    def echo(line: str) -> None:
        typer.echo(f"  {line}", err=as_json)

    with PageDesk(session, operator, address, terminal=check_operator(start, True), say=echo) as desk:
        try:
            yield desk
        except typer.Exit:  # how it ended has been reported, also to the page
            _linger(desk, as_json)
            raise
        except HalfrealError as error:
            typer.echo(str(error), err=True)
            desk.over(str(error), record=False)
            _linger(desk, as_json)
            raise typer.Exit(WRONG) from None


def _linger(desk: PageDesk, as_json: bool) -> None:
    if desk.looked_at:
        typer.echo("  the page stays open until the last browser is closed; press Ctrl-C to end it now", err=as_json)
    desk.linger()


def page(
    path: RunFile,
    at: PageAt = ANY_PORT,
    certificate: PageCertificate = None,
    key: PageKey = None,
) -> None:
    """Show a run file in the browser, finished or still being recorded (view only); Ctrl-C ends it."""
    from ..page.address import Address

    address = Address.read(at, certificate, key)
    from ..page.watching import watch

    try:
        watch(path, address, say=lambda line: typer.echo(line))
    except KeyboardInterrupt:
        raise typer.Exit(0) from None
