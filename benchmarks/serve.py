"""Many pages open on one study while many clients ask and tell: how long they wait, and what is lost.

A page does what the browser's does: it loads, then asks every two seconds what has changed. A
client asks for a trial and tells its result; one request in ten is sent twice, as if its reply had
been lost.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx2 as httpx
import numpy as np

import shortlist

ARMS, FEATURES, SIGMA = 200, 10, 20.0  # so noisy that it does not stop meanwhile
PAUSE = 2.0  # seconds, as in live.js
PATIENCE = 120.0


class Load:
    """The pages and clients, and what they have seen."""

    def __init__(self, address: str, token: str, until: float) -> None:
        self.page, self.until = f"{address}/{token}", until
        self.api, self.bearer = f"{address}/api", {"Authorization": f"Bearer {token}"}
        self.waited: dict[str, list[float]] = defaultdict(list)
        self.told: dict[int, float] = {}  # acknowledged, by trial
        self.final = asyncio.get_running_loop().create_future()  # how many changes there are
        self.lags: list[float] = []  # seconds from the end until a page shows all

    async def timed(self, what: str, request: Any) -> httpx.Response:
        """The reply; how long it took is noted."""
        begun = time.perf_counter()
        reply = await request
        self.waited[what].append(time.perf_counter() - begun)
        reply.raise_for_status()
        return reply

    async def watch(self, http: httpx.AsyncClient) -> None:
        """A page: to the end, and until it shows all that was told."""
        await asyncio.sleep(PAUSE * np.random.default_rng().random())
        await self.timed("open the page", http.get(f"{self.page}/"))
        for name in ("style.css", "live.js"):
            (await http.get(f"{self.page}/{name}")).raise_for_status()
        seen = ""
        while not self.final.done() or seen != str(self.final.result()[0]):
            reply = await self.timed("look for news", http.get(f"{self.page}/live?seen={seen}"))
            seen = reply.headers.get("study-changes", seen)
            await asyncio.sleep(PAUSE)
        self.lags.append(max(0.0, time.perf_counter() - self.final.result()[1] - PAUSE))

    async def work(self, http: httpx.AsyncClient, name: int) -> None:
        """A client: ask, evaluate, tell."""
        draw = np.random.default_rng(name)
        turn = 0
        while time.perf_counter() < self.until:
            turn += 1
            request = {"key": f"client {name}, turn {turn}"}
            asked = await self.send(http, "ask", request, twice=draw.random() < 0.1)
            [trial] = asked["trials"]
            value = float(draw.normal())
            result = {"trial": trial["trial"], "value": value}
            await self.send(http, "tell", result, twice=draw.random() < 0.1)
            assert trial["trial"] not in self.told, "a trial was given to two"
            self.told[trial["trial"]] = value

    async def send(
        self, http: httpx.AsyncClient, what: str, given: dict[str, Any], *, twice: bool
    ) -> dict[str, Any]:
        """The reply of the last of one or two requests."""
        for _ in range(2 if twice else 1):
            request = http.post(f"{self.api}/{what}", json=given, headers=self.bearer)
            reply = await self.timed(what, request)
        found: dict[str, Any] = reply.json()
        return found


async def load(address: str, token: str, place: Path, options: argparse.Namespace) -> Load:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=PATIENCE) as http:
        made = Load(address, token, time.perf_counter() + options.seconds)
        pages = [asyncio.create_task(made.watch(http)) for _ in range(options.pages)]
        await asyncio.gather(*(made.work(http, k) for k in range(options.clients)))
        ended = time.perf_counter()
        study = await asyncio.to_thread(shortlist.Study.load, place)
        made.final.set_result((study.changes, ended))
        await asyncio.gather(*pages)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    token = "for-this-benchmark-only"  # noqa: S105
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "study.db")
        x = np.random.default_rng(0).normal(size=(ARMS, FEATURES))
        shortlist.Study(x, 5, sigma=SIGMA, seed=0, storage=place)
        command = "from shortlist.cli.app import main; main()"
        with subprocess.Popen(
            [sys.executable, "-c", command, "serve", str(place), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "SHORTLIST_TOKEN": token},
        ) as server:
            assert server.stdout is not None
            address = server.stdout.readline().split()[1].removesuffix(f"/{token}/")
            try:
                made = asyncio.run(load(address, token, place, options))
            finally:
                server.terminate()
        study = shortlist.Study.load(place)
        stored = {trial.number: trial.value for trial in study.trials}
    assert stored == made.told, "what is stored is not what was acknowledged"
    print(f"{options.pages} pages and {options.clients} clients for {options.seconds:g} s")
    print(f"{len(stored):,} trials asked and told, {len(stored) / options.seconds:.0f} a second")
    print("all that was acknowledged is stored, once, and nothing else")
    print(f"{'ms':14} {'requests':>9} {'median':>8} {'95 %':>8} {'longest':>8}")
    for what, seconds in made.waited.items():
        middle, most = (1000 * q for q in np.quantile(seconds, [0.5, 0.95]))
        print(f"{what:14} {len(seconds):9,} {middle:8.1f} {most:8.1f} {1000 * max(seconds):8.1f}")
    print(f"the last page shows the end after {max(made.lags, default=0.0):.1f} s")


if __name__ == "__main__":
    main()
