"""A headless Chromium, driven over a pipe: what a page does when it is really opened."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# The browser reads commands from file descriptor 3 and answers on 4.
LAUNCHER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 60.0  # seconds


def program() -> str | None:
    """Where Chromium is, if it is anywhere."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Chromium:
    """One browser, a page at a time, with all that it asked for and complained about."""

    def __init__(self, profile: Path, *flags: str) -> None:
        browser = program()
        assert browser is not None
        commands, self._out = os.pipe()
        self._in, answers = os.pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", LAUNCHER, str(commands), str(answers)),
                *(browser, "--headless=new", "--remote-debugging-pipe", "--disable-gpu"),
                *("--hide-scrollbars", "--no-first-run", f"--user-data-dir={profile}"),
                *("--disable-dev-shm-usage", *sandbox, *flags, "about:blank"),
            ],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._left, self._count = b"", 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self._seen: set[str] = set()
        self._tabs: list[str] = []
        self.tab()

    def __enter__(self) -> Chromium:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._session = None
        with contextlib.suppress(OSError, RuntimeError):
            self.do("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def tab(self) -> str:
        """Open a tab, and go on in it; returns what :meth:`switch` takes."""
        self._session = None
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._tabs.append(target)
        attached = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self.switch(attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.do(f"{domain}.enable")
        return str(attached["sessionId"])

    def close_tabs(self) -> None:
        """Close all tabs: what is open asks its server on and on."""
        self._session = None
        for target in self._tabs:
            self.do("Target.closeTarget", targetId=target)
        self._tabs.clear()

    def switch(self, tab: str) -> None:
        """Go on in another tab."""
        self._session = tab

    def do(self, method: str, **params: Any) -> dict[str, Any]:
        """A command of the DevTools protocol, and its result."""
        number = self._send(method, params)
        while True:
            message = self._next()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return dict(message["result"])

    def open(self, page: Path | str, *, settle: bool = True) -> None:
        """Go to a page, wait until it has loaded, and by default let it settle."""
        self._seen.discard("Page.loadEventFired")
        self.do("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        while "Page.loadEventFired" not in self._seen:
            self._next()
        if settle:
            self.settle()

    def settle(self, seconds: float = 0.3) -> None:
        """Let the page do what it wants to do."""
        self.run(f"new Promise(done => setTimeout(done, {1000 * seconds}))")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        result = self.do(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, condition: str, seconds: float = 20.0) -> None:
        """Wait until an expression in the page is true; meanwhile it may become another page."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with contextlib.suppress(RuntimeError):
                if self.run(condition):
                    return
            time.sleep(0.05)
        raise AssertionError(f"never true: {condition}")

    def click(self, selector: str) -> None:
        """Click into the middle of an element, as a hand would, once the page stands still."""
        self.wait("document.readyState === 'complete'")
        box = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const b = e.getBoundingClientRect(); "
            f"return [b.x + b.width / 2, b.y + b.height / 2]; }})"
            f"(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            place = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.do("Input.dispatchMouseEvent", type=kind, **place)

    def choose(self, selector: str, file: Path) -> None:
        """Choose a file in a form."""
        self.wait("document.readyState === 'complete'")
        script = f"document.querySelector({json.dumps(selector)})"
        found = self.do("Runtime.evaluate", expression=script)["result"]["objectId"]
        self.do("DOM.setFileInputFiles", objectId=found, files=[str(file)])

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        """The size of the window, and whether its owner likes it dark."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, *, whole: bool = True) -> Path:
        """A screenshot, of the whole page or of the window."""
        shot = self.do("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """The page as it is printed."""
        printed = self.do("Page.printToPDF", preferCSSPageSize=True, printBackground=False)
        path.write_bytes(base64.b64decode(printed["data"]))
        return path

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        return self._count

    def _next(self) -> dict[str, Any]:
        """The next message; events are noted on the way."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise RuntimeError("Chromium does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has gone away")
            self._left += data
        line, _, self._left = self._left.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, details: dict[str, Any]) -> None:
        self._seen.add(event)
        if event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event == "Log.entryAdded":
            self.complaints.append(details["entry"]["text"])
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(details["exceptionDetails"]))
        elif event == "Page.javascriptDialogOpening":
            self.dialogs.append(details["message"])
            self._send("Page.handleJavaScriptDialog", {"accept": True})
