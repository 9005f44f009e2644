"""The command ``serve``: a study as a live page, and as JSON for instruments."""

from __future__ import annotations

import ipaddress
import os
import re
import secrets
import socket
import sys
from contextlib import suppress
from typing import Annotated

import typer

from shortlist.cli.output import note, say
from shortlist.cli.study_argument import NameOption, StudyArgument, open_study
from shortlist.errors import InvalidSetting

TOKEN = "SHORTLIST_TOKEN"  # noqa: S105 - the name of a variable
LOOPBACK = ("127.0.0.1", "localhost", "::1")

EXAMPLES = """[bold]Examples[/bold]
$ shortlist serve screen.db
$ shortlist serve screen.toml --port 0          # any free port
$ SHORTLIST_TOKEN=… shortlist serve screen.db   # the same address every time
$ shortlist serve screen.db --host 0.0.0.0 --allow lab-pc   # for others

Whoever has the printed address may ask, tell, fail, cancel, verify, widen,
retire and add. The server listens on this machine only, unless --host says
otherwise; then what it sends is not encrypted, and you should put a proxy with
TLS in front of it."""


def serve(
    study: StudyArgument = None,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = LOOPBACK[0],
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="0 picks a free port.")
    ] = 8765,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Another host name by which others reach the server; may be repeated.",
            show_default=False,
        ),
    ] = None,
    name: NameOption = None,
) -> None:
    """Serve a study: a live page, and JSON for instruments."""
    from shortlist.serve.application import application, server
    from shortlist.serve.single_thread import is_at_work

    token = _token()
    family, address = _resolved(host, port)
    local = _ip(address).is_loopback
    names = [host, *(LOOPBACK if local else []), *(allow or [])]
    for each in names:
        if "*" in each:
            raise InvalidSetting(f"{each!r} is not the name of one host: leave * out.")
    if _ip(address).is_unspecified and not allow:
        raise InvalidSetting(
            f"--host {host} is every address of this machine: say with --allow by which name or "
            "address others reach it, such as --allow lab-pc."
        )
    app = application(lambda: open_study(study, name), token=token, names=names)
    with _listening(family, address, host) as listener:
        shown = names[-1] if allow else host
        number = listener.getsockname()[1]
        where = f"http://{f'[{shown}]' if ':' in shown else shown}:{number}"
        say(f"page  {where}/{token}/")
        say(f"JSON  {where}/api/ with the header Authorization: Bearer {token}")
        say(f"It answers to {', '.join(dict.fromkeys(names))} only; --allow adds a name.")
        say("Ctrl-C ends it; the study stays as it is.")
        if not local:
            note("what is sent is not encrypted: whoever can listen to it can read the token.")
        with suppress(KeyboardInterrupt):
            server(app).run(sockets=[listener])
    if is_at_work():  # Python may crash at its end if a thread waits for a storage that is locked
        sys.stdout.flush()
        os._exit(0)


def _token() -> str:
    """The token from the environment, or a new one."""
    given = os.environ.get(TOKEN)
    if given is None:
        return secrets.token_urlsafe(24)
    if not re.fullmatch(r"[A-Za-z0-9_-]{16,200}", given):
        raise InvalidSetting(
            f"{TOKEN} must have 16 to 200 letters, digits, - or _. Leave it unset to have one made."
        )
    return given


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    """The kind of address and the address that a name stands for: "0" is every address too."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise _not_listening(host, port, error) from None
    return family, (str(address[0]), int(address[1]))


def _ip(address: tuple[str, int]) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(address[0])
    return getattr(found, "ipv4_mapped", None) or found


def _listening(family: int, address: tuple[str, int], host: str) -> socket.socket:
    try:
        return socket.create_server(address, family=family)
    except OSError as error:
        raise _not_listening(host, address[1], error) from None


def _not_listening(host: str, port: int, error: Exception) -> InvalidSetting:
    said = getattr(error, "strerror", None) or error
    return InvalidSetting(
        f"--host {host} --port {port} cannot be listened on ({said}): choose another port, or 0 for a "
        "free one."
    )
