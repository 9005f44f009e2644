"""Who may come in, and with how much."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import BEARER, TOKEN, Client, begun, client_of
from shortlist.serve.guard import LARGEST


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    place = tmp_path_factory.mktemp("study") / "study.db"
    begun(place)
    with client_of(place) as client:
        yield client


def test_the_address_with_the_token_is_the_page(client: Client) -> None:
    assert client.page().status_code == 200
    reply = client.http.get(f"/{TOKEN}")
    assert (reply.status_code, reply.headers["location"]) == (307, f"/{TOKEN}/")


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", f"/{TOKEN[:-1]}/", f"/{TOKEN}x/", "/page/", "//", "/é/", "/api"]
)
def test_no_page_is_shown_without_the_token(client: Client, path: str) -> None:
    reply = client.http.get(path)
    assert reply.status_code == 403
    assert "trees" not in reply.text
    assert "shortlist serve" in reply.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer é".encode()},
    ],
)
@pytest.mark.parametrize("path", ["/api/status", "/api/ask", "/api/nothing"])
def test_no_json_is_given_without_the_token(
    client: Client, path: str, headers: dict[str, Any]
) -> None:
    reply = client.http.post(path, content="{}", headers=headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "Authorization: Bearer" in reply.json()["error"]


def test_json_is_not_given_to_the_holder_of_the_page_s_address(client: Client) -> None:
    assert client.http.get(f"/{TOKEN}/api/status").status_code == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.2:80", "", "[", "localhost@evil"]
)
def test_a_host_of_another_name_is_refused(client: Client, host: str) -> None:
    for path in (f"/{TOKEN}/", "/api/status"):
        reply = client.http.get(path, headers={**BEARER, "Host": host})
        assert reply.status_code == 400
        assert "trees" not in reply.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765"])
def test_its_own_names_are_taken_with_any_port(client: Client, host: str) -> None:
    assert client.http.get(f"/{TOKEN}/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost", "x", "http://["],
)
def test_a_page_from_elsewhere_is_refused(client: Client, origin: str) -> None:
    headers = {**BEARER, "Origin": origin}
    assert client.http.post("/api/ask", json={"key": "a"}, headers=headers).status_code == 403
    sent = {"n": "1", "key": "a"}
    reply = client.http.post(f"/{TOKEN}/ask", data=sent, headers=headers)
    assert reply.status_code == 403
    assert client.api("status").json()["pending"] == 0


def test_its_own_page_may_send_forms(client: Client) -> None:
    headers = {"Origin": "http://127.0.0.1"}
    reply = client.http.post(f"/{TOKEN}/fail", data={"trials": "7"}, headers=headers)
    assert reply.status_code == 404  # it came as far as the study, which has no trial 7


def test_no_other_origin_may_read(client: Client) -> None:
    reply = client.http.options(
        "/api/ask",
        headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"},
    )
    assert reply.status_code == 403
    for answer in (reply, client.page(), client.api("status"), client.http.get("/")):
        assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("path", [f"/{TOKEN}/", "/", "/api/status", f"/{TOKEN}/live.js"])
def test_every_answer_has_the_policy(client: Client, path: str) -> None:
    headers = client.http.get(path).headers
    policy = dict(
        each.strip().split(" ", 1) for each in headers["content-security-policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # the token stays here


@pytest.mark.parametrize("path", ["/api/tell", f"/{TOKEN}/preview"])
def test_what_is_too_large_is_not_read(client: Client, path: str) -> None:
    declared = {**BEARER, "Content-Length": str(LARGEST + 1)}
    reply = client.http.post(path, content=b"x", headers=declared)
    assert reply.status_code == 413
    assert f"{LARGEST:,} bytes" in reply.text

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    assert client.http.post(path, content=pieces(), headers=BEARER).status_code == 413
    odd = {**BEARER, "Content-Length": "1e3"}
    assert client.http.post(path, content=b"x", headers=odd).status_code == 400


def test_a_socket_of_the_web_is_closed(client: Client) -> None:
    from starlette.websockets import WebSocketDisconnect

    with (
        pytest.raises(WebSocketDisconnect),
        client.http.websocket_connect(f"/{TOKEN}/live") as web_socket,
    ):
        web_socket.receive()


def test_a_token_of_another_study_opens_nothing(tmp_path: Path, client: Client) -> None:
    from shortlist.serve.guard import Guard

    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    from starlette.testclient import TestClient

    other = TestClient(Guard(never, "another-token-altogether"))
    assert other.get(f"/{TOKEN}/").status_code == 403
    assert other.get("/api/x", headers=BEARER).status_code == 401


@pytest.mark.parametrize("request_line", ["OPTIONS *", "CONNECT 127.0.0.1:80", f"GET {TOKEN}/"])
def test_what_is_no_path_is_refused(request_line: str) -> None:
    from shortlist.serve.guard import Guard

    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError

    method, path = request_line.split()
    scope = {"type": "http", "method": method, "path": path, "headers": []}
    assert answered(Guard(never, TOKEN), scope)[0]["status"] == 403


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([{"type": "http.request", "body": b"trials=1", "more_body": False}], 400),
        ([{"type": "http.request", "body": b"trials=1", "more_body": True}], 400),
        ([{"type": "http.request", "body": b"trials=12+17", "more_body": True}], 400),
        ([{"type": "http.request", "body": b"trials=12+17", "more_body": False}], None),
    ],
)
def test_a_body_that_is_not_whole_is_not_acted_on(messages: list[Any], status: int | None) -> None:
    from shortlist.serve.guard import Guard

    acted = []

    async def act(scope: Any, receive: Any, send: Any) -> None:
        acted.append(await receive())

    headers = [(b"content-length", b"12")]
    scope = {"type": "http", "method": "POST", "path": f"/{TOKEN}/fail", "headers": headers}
    sent = answered(Guard(act, TOKEN), scope, [*messages, {"type": "http.disconnect"}])
    assert [message["status"] for message in sent if "status" in message] == [status] * bool(status)
    assert bool(acted) == (status is None)


def answered(app: Any, scope: dict[str, Any], messages: list[Any] | None = None) -> list[Any]:
    """What an application sends."""
    sent: list[Any] = []
    left = list(messages or [])

    async def receive() -> Any:
        return left.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent
