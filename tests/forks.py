"""Python programs that are forked from a process with the package loaded: a start in milliseconds.

``python()`` begins a command line, in the place of ``sys.executable``, for ``-c code`` or a
script, and words; ``program()`` begins one of ``shortlist``. Behind it stands a small program that hands its words, folder, environment,
input and output over to the server of this test run, and waits. The server forks; the child
runs the code as ``python -c`` does, and what is registered for its exit. Signals go
on to the child, a program that is killed takes its child with it, and the exit status is the
child's.

What loading itself does, options of Python such as ``-W``, variables that are read while starting,
and what the package finds out once a process (the user's name) need a true start:
``sys.executable``.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

CLIENT = Path(__file__).with_name("forked.py")


ADDRESS = "SHORTLIST_TEST_FORKS"  # of the server, to all processes of a run
PATIENCE = 120.0


def start() -> None:
    """Start the server, for this process and those that it starts."""
    folder = tempfile.TemporaryDirectory()
    os.environ[ADDRESS] = address = str(Path(folder.name) / "forks")
    server = subprocess.Popen([sys.executable, __file__, address], stdin=subprocess.PIPE)
    assert server.stdin is not None

    def end() -> None:
        server.stdin.close()  # type: ignore[union-attr]
        server.wait()
        folder.cleanup()

    atexit.register(end)


@cache
def python() -> tuple[str, ...]:
    """What a command line begins with; starts the server where nobody has."""
    if ADDRESS not in os.environ:
        start()
    address, deadline = os.environ[ADDRESS], time.monotonic() + PATIENCE
    while not Path(address).exists():
        assert time.monotonic() < deadline, "the server has not started"
        time.sleep(0.02)
    return (sys.executable, "-I", "-S", str(CLIENT), address)  # without site-packages: light


def program() -> tuple[str, ...]:
    """What a command line of ``shortlist`` begins with."""
    return (*python(), "-c", "from shortlist.cli.app import main; main()")


# The server


# Without scipy.optimize, each program that makes a study would take a third of a second longer.
MODULES = (
    *("matplotlib.pyplot", "pandas", "scipy.optimize", "scipy.stats", "shortlist.cli.app"),
    *("psycopg", "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite"),
    *("h5py", "shortlist.files.separate_process"),
)


def load() -> None:
    """Import what programs use, and load the machine code of small studies."""
    for module in MODULES:
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module)
    import numpy as np

    import shortlist

    given: dict[str, Any] = {"m": 1, "sigma": 1.0}
    related = np.array([[1.0, 0.0], [0.9, 0.4], [0.2, 0.9], [0.0, 1.0]])
    with tempfile.TemporaryDirectory() as folder:
        for number, features in enumerate((np.eye(3), related)):
            study = shortlist.Study(features, storage=Path(folder) / f"{number}.db", **given)
            study.run(lambda trial: float(trial.arm), max_evaluations=5, progress=False)
            study.table()
            study.close()
    shortlist.Study(related, algorithm="m-LinGapE", **given).ask()
    if "matplotlib" in sys.modules:
        sys.modules["matplotlib"].use("Agg")


def serve(address: str) -> list[str]:
    """Fork for each request; return, in a child only, the words that it is to run."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.part")
    listening.listen(64)
    # A byte arrives whenever a child has ended.
    ended, noticed = os.pipe()
    os.set_blocking(noticed, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(noticed)
    os.rename(f"{address}.part", address)  # now it may be used
    clients: dict[int, socket.socket] = {}  # by the child's process number
    while True:
        readable, _, _ = select.select([0, listening, ended, *clients.values()], [], [])
        if 0 in readable:  # whoever started the server has gone
            for child in clients:
                os.kill(child, signal.SIGKILL)
            os._exit(0)
        if ended in readable:
            os.read(ended, 4096)
            collect(clients)
        for child, client in clients.items():
            if client in readable:  # it never says more: it was killed
                os.kill(child, signal.SIGKILL)
        if listening in readable:
            client = listening.accept()[0]
            request, outputs = receive(client)
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for descriptor in (listening, client, *clients.values()):
                    descriptor.close()
                os.close(ended)
                os.close(noticed)
                return become(request, outputs)
            for output in outputs:
                os.close(output)
            client.sendall(f"{child}\n".encode())
            clients[child] = client


def collect(clients: dict[int, socket.socket]) -> None:
    """Tell each client whose child has ended how it did."""
    while clients:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        client = clients.pop(child)
        with client:
            try:
                client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
            except OSError:
                continue  # the client was killed, and its child with it


def receive(client: socket.socket) -> tuple[Any, list[int]]:
    """A request, and the client's input and outputs."""
    length, outputs, _, _ = socket.recv_fds(client, 8, 3)
    size, data = int.from_bytes(length, "big"), b""
    while len(data) < size:
        data += client.recv(size - len(data))
    return json.loads(data), outputs


def become(request: Any, outputs: list[int]) -> list[str]:
    """Take over the client's input, outputs, folder and environment; return its words."""
    import random

    import numpy as np

    words, folder, variables = request
    for number, output in enumerate(outputs):
        os.dup2(output, number)
        os.close(output)
    os.chdir(folder)
    os.environb.clear()
    os.environb.update({bytes.fromhex(k): bytes.fromhex(v) for k, v in variables.items()})
    # What a stream can do is noted when it is made.
    sys.stdin = stream(0, "r")
    sys.stdout = stream(1, "w")
    sys.stderr = stream(2, "w", errors="backslashreplace", line_buffering=True)
    random.seed()
    np.random.seed()  # noqa: NPY002
    return [os.fsdecode(bytes.fromhex(word)) for word in words]


def stream(number: int, mode: str, **settings: Any) -> TextIOWrapper:
    """An input or output as Python opens it when it starts."""
    unbuffered = mode == "w" and bool(os.environ.get("PYTHONUNBUFFERED"))
    raw = open(number, f"{mode}b", 0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    encoding = os.environ.get("PYTHONIOENCODING") or "utf-8"
    return TextIOWrapper(raw, encoding, write_through=unbuffered, **settings)


def main() -> None:
    """Serve; in a child, run what it was asked for as Python's first module."""
    load()
    gc.freeze()  # so that a child copies no memory only to look for garbage in it
    kind, *words = serve(sys.argv[1])
    module = ModuleType("__main__")
    if kind == "-c":
        code, *words = words
        file, folder = "<string>", ""
    else:
        code, file, folder = Path(kind).read_text(), kind, str(Path(kind).absolute().parent)
        module.__file__ = kind
    sys.argv[:] = [kind, *words]
    sys.path[0] = folder
    sys.modules["__main__"] = module
    try:
        exec(compile(code, file, "exec", dont_inherit=True), module.__dict__)
    except SystemExit as end:
        leave(end.code)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        leave(-signal.SIGINT)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        leave(1)
    leave(None)


def leave(code: object) -> NoReturn:
    """End as the interpreter does, less the second that it takes to give all memory back."""
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
    status = code if isinstance(code, int) else int(code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        status = 120
    if status == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    main()
