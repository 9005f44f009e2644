"""A connection to the server: until it has shown the token it has little time, and makes way for others."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

INVITED = "shortlist.invited"  # in the scope of a request that has shown the token
SECONDS = 10.0  # for a connection to show the token
STRANGERS = 64  # connections that have not
AT_ONCE = 8  # connections accepted in one turn of the event loop
WAITING = 512  # connections that the system keeps until they are accepted


class Connection(H11Protocol):
    """A connection as uvicorn has it, which a stranger cannot keep.

    Without this, half a request would hold a file handle for ever, and a thousand of them all there
    are. Uvicorn limits the time between two requests, and the number of connections of all together.

    Whoever sends the token at once is not closed: what it sent has arrived while it waited to be
    accepted, is read two turns of the event loop later, and ``STRANGERS / AT_ONCE`` turns pass
    before so many others have come that it would have to go.
    """

    since = 0.0
    was_invited = False  # by a request before the last one

    @property
    def is_strange(self) -> bool:
        """Whether it is open and no request has shown the token; ``Guard`` says so."""
        return not self._is_invited and not self.transport.is_closing()

    @property
    def _is_invited(self) -> bool:
        return self.was_invited or (self.scope is not None and INVITED in self.scope)

    def on_response_complete(self) -> None:
        """Whoever has shown the token need not wait for ``Guard`` to read the next request."""
        self.was_invited = self._is_invited
        super().on_response_complete()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; where there are too many strangers, the one that came first must go."""
        super().connection_made(transport)
        self.since = self.loop.time()
        # A request that has just come is read by ``Guard`` in the next turn of the event loop, before this.
        self.loop.call_later(SECONDS, self.loop.call_soon, self.close_if_strange)
        ours = [each for each in self.connections if isinstance(each, Connection)]
        strangers = [each for each in ours if each.is_strange]
        if len(strangers) > STRANGERS:
            min(strangers, key=lambda each: each.since).transport.abort()

    def close_if_strange(self) -> None:
        """Close it if no request has shown the token so far."""
        if self.is_strange:
            self.transport.abort()
