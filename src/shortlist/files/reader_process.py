"""Files that native libraries parse are read in a process of their own, within limits.

HDF5, Parquet and SBML are parsed by libraries in C and C++. A damaged file can make them loop, take
all memory or end the process, and Python cannot stop them. So a second process reads the file and
sends its content as plain numbers and text. What happens to that process becomes an error with
the file's name. It is kept for the next file, and ends when it has been idle for a while.
"""

from __future__ import annotations

import atexit
import importlib
import json
import math
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

import shortlist
from shortlist import errors
from shortlist.errors import InvalidInput
from shortlist.files.limits import SECONDS, most_bytes, most_seconds, size_of, too_large
from shortlist.files.paths import checked_path
from shortlist.printable import on_one_line

if sys.platform != "win32":
    import resource

LENGTHS = struct.Struct(">IQ")  # of a message: of its JSON, and of the block that follows
BEGIN = "import sys; sys.path[:] = sys.argv[1:]; from shortlist.files.reader_process import serve; serve()"
SAID = 200  # characters of a library's own message that are shown

Block = NDArray[Any]
NOTHING: Block = np.empty(0)
Send = Callable[[dict[str, Any], Block], None]
Take = Send  # what is given the parts that are sent
IDLE = 30.0  # seconds, then it ends by itself
OVERHEAD = 512 << 20  # bytes that libraries take for themselves while they read


def read_in_process(
    function: str,
    request: dict[str, Any],
    *,
    source: object,
    error: type[InvalidInput],
    path: str | os.PathLike[str] | None = None,
    take: Take | None = None,
) -> dict[str, Any]:
    """The answer of a function of this package that runs in the process that reads files.

    The function, ``module:name``, is called with the request, the number of bytes that the content
    may take, and a function that sends a part, ``send(words, block=None)``; what it returns is the
    answer. Requests, answers and words are what JSON has. ``take`` is given every part: its words
    and its block.

    ``source`` is the file, for messages, and ``error`` what to raise if it cannot be read. The size
    of the file at ``path`` counts for what it may take.
    """
    if path is not None:
        path = checked_path(path, error)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}.")
        request = {**request, "path": os.fspath(path.absolute())}
    most = most_bytes(0 if path is None else size_of(path))
    words = {"function": function, "request": request, "most": most, "seconds": most_seconds()}
    global _CHILD
    with _LOCK:
        for _ in range(2):
            try:
                child = _CHILD = _CHILD or _Child()
            except OSError as failure:
                raise error(
                    f"{source}: no process could be started to read it ({failure.strerror})."
                ) from None
            ended = child.answer(words, take)
            if ended["kind"] not in ("died", "memory") or child.is_new:
                break
            # It may have ended because it was idle, or earlier files have used up its memory.
            child.end()
        child.is_new = False
        if ended["kind"] in ("died", "memory", "slow"):
            child.end()
    return _checked(ended, source, error, most)


def read_matrix(
    function: str,
    request: dict[str, Any],
    *,
    source: object,
    error: type[InvalidInput],
    path: str | os.PathLike[str],
) -> tuple[dict[str, Any], NDArray[np.float64]]:
    """The answer of a function, and the matrix that it sends block by block; see `read_in_process`."""
    matrix = np.empty((0, 0))

    def take(words: dict[str, Any], block: Block) -> None:
        nonlocal matrix
        if "shape" not in words:
            matrix[tuple(slice(*ends) for ends in words["at"])] = block
            return
        try:
            matrix = np.empty(words["shape"])
        except (MemoryError, ValueError):
            needed = 8 * math.prod(words["shape"])
            raise too_large(path, needed, most_bytes(size_of(path)), error) from None

    answer = read_in_process(function, request, source=source, error=error, path=path, take=take)
    return answer, matrix


def _checked(
    ended: dict[str, Any], source: object, error: type[InvalidInput], most: int
) -> dict[str, Any]:
    said = on_one_line(ended.get("message", ""))[:SAID]
    match ended["kind"]:
        case "done":
            answer: dict[str, Any] = ended["answer"]
            return answer
        case "ours":
            raise _OURS.get(ended["type"], error)(ended["message"])
        case "import":
            raise ImportError(ended["message"])
        case "memory":
            raise too_large(source, ended.get("needed"), most, error)
        case "slow":
            raise error(
                f"{source}: reading it made no progress for {most_seconds():g} seconds and was "
                "given up; the file is damaged. If it is not, set the environment variable "
                f"{SECONDS} to a larger number."
            )
        case "died":
            raise error(
                f"{source}: the library that reads this kind of file crashed on it "
                f"({said}); the file is damaged: fetch it or write it again. If whole files fail "
                "too, install that library again."
            )
    raise error(
        f"{source} cannot be read: it is damaged, or a file of another kind ({said}). Fetch it or "
        "write it again."
    )


_OURS: dict[str, type[Exception]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, InvalidInput)
}


class _Child:
    """The process that reads files, seen from here."""

    def __init__(self) -> None:
        home = str(Path(shortlist.__file__).parents[1])
        paths = [home, *(path for path in sys.path if path and path != home)]
        self.is_new = True
        # Isolated: neither the folder one stands in nor the environment says what is imported.
        self._process = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-I", "-c", BEGIN, *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # Ctrl-C is for us: we end it
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )

    def answer(self, words: dict[str, Any], take: Take | None) -> dict[str, Any]:
        """The last message about a request; parts go to ``take``."""
        try:
            with _Watch(self._process, words["seconds"]) as watch:
                sent = json.dumps(words).encode()
                with suppress(OSError):  # it has ended: then there is nothing to read either
                    self._write(len(sent).to_bytes(4, "big") + sent)
                while True:
                    said, block = self._message()
                    if said["kind"] == "died" and watch.expired:
                        return {"kind": "slow"}
                    if said["kind"] != "part":
                        return said
                    watch.progress()
                    if take is not None:
                        take(said["words"], block)
        except BaseException:  # an interruption, or what it sent cannot be taken
            self.end()
            raise

    def _message(self) -> tuple[dict[str, Any], Block]:
        try:
            lengths = self._read(LENGTHS.size)
            words, size = LENGTHS.unpack(lengths.tobytes())
            said: dict[str, Any] = json.loads(self._read(words).tobytes())
            block = self._read(size)
        except (EOFError, OSError):
            return {"kind": "died", "message": self._how()}, NOTHING
        return said, block.view(said["dtype"]).reshape(said["shape"])

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        left = memoryview(data)
        while left:
            left = left[self._process.stdin.write(left) :]

    def _read(self, count: int) -> NDArray[np.uint8]:
        assert self._process.stdout is not None
        data = np.empty(count, np.uint8)
        left = data.data
        while left:
            got = self._process.stdout.readinto(left)  # type: ignore[attr-defined]
            if not got:
                raise EOFError
            left = left[got:]
        return data

    def _how(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(5.0)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "no answer"

    def end(self) -> None:
        """Kill the process and forget it."""
        global _CHILD
        with suppress(OSError):
            self._process.kill()
        self.let_go()
        self._process.wait()
        if _CHILD is self:
            _CHILD = None

    def let_go(self) -> None:
        """Close the pipes."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


class _Watch:
    """Ends a process that has made no progress for this number of seconds."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.expired = False
        self._process, self._seconds = process, seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.progress()

    def progress(self) -> None:
        """Start counting the seconds again."""
        self._deadline = time.monotonic() + self._seconds

    def __enter__(self) -> _Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(max(0.0, self._deadline - time.monotonic())):
            if time.monotonic() >= self._deadline:
                self.expired = True
                with suppress(OSError):
                    self._process.kill()
                return


_LOCK = threading.Lock()
_CHILD: _Child | None = None
_INHERITED: list[_Child] = []  # children of the process that this one was forked from


def _forked() -> None:
    """A process that was forked has no child yet, and must not speak to its parent's."""
    global _CHILD, _LOCK
    _LOCK = threading.Lock()
    if _CHILD is not None:
        _CHILD.let_go()
        _INHERITED.append(_CHILD)  # else Python would warn that it is still at work
        _CHILD = None


@atexit.register
def end_reading() -> None:
    """End the process that reads files, if there is one; the next file starts another."""
    if _CHILD is not None:
        _CHILD.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class TooLarge(MemoryError):
    """A file declares content that would take more memory than it may."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


def check_size(needed: int, most: int) -> None:
    """Raise before memory is taken that a file may not take."""
    if not 0 <= needed <= most:
        raise TooLarge(needed)


def send_shape(rows: int, columns: int, most: int, send: Send) -> None:
    """Announce a matrix of float64, if it may take the memory; its blocks follow."""
    check_size(8 * rows * columns, most)
    send({"shape": [rows, columns]}, NOTHING)


def serve() -> None:
    """Answer requests from stdin on stdout until nobody asks; what libraries print is dropped."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    while True:
        idle = threading.Timer(IDLE, os._exit, [0])
        idle.daemon = True
        idle.start()
        length = asked.read(4)
        idle.cancel()
        if len(length) < 4:
            os._exit(0)
        words = json.loads(asked.read(int.from_bytes(length, "big")))
        _limit_memory(2 * words["most"] + OVERHEAD)
        _say(answers, _answer(words, answers))
        _limit_memory(None)


def _answer(words: dict[str, Any], answers: BinaryIO) -> dict[str, Any]:
    def send(part: dict[str, Any], block: NDArray[Any]) -> None:
        _say(answers, {"kind": "part", "words": part}, block)
        _limit_time(words["seconds"])

    _limit_time(words["seconds"])
    try:
        module, _, name = words["function"].partition(":")
        if not module.startswith("shortlist."):
            raise ValueError(module)
        function = getattr(importlib.import_module(module), name)
        return {"kind": "done", "answer": function(words["request"], words["most"], send)}
    except InvalidInput as error:
        return {"kind": "ours", "type": type(error).__name__, "message": str(error)}
    except ImportError as error:
        return {"kind": "import", "message": str(error)}
    except TooLarge as error:
        return {"kind": "memory", "needed": error.needed}
    except MemoryError:
        return {"kind": "memory"}
    except Exception as error:
        # A parser of damaged data may raise anything; here it cannot do harm.
        return {"kind": "damaged", "message": f"{type(error).__name__}: {error}"[:1000]}


def _say(answers: BinaryIO, words: dict[str, Any], block: Block = NOTHING) -> None:
    block = np.ascontiguousarray(block)
    about = {"dtype": block.dtype.str, "shape": block.shape}
    said = json.dumps({**words, **about}, default=str).encode()
    answers.write(LENGTHS.pack(len(said), block.nbytes))
    answers.write(said)
    answers.write(block.reshape(-1).data)
    answers.flush()


def _limit_memory(more: int | None) -> None:
    """Let the process take at most ``more`` further bytes of memory; None: as much as it likes."""
    if sys.platform != "linux":
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = hard
    if more is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _limit_time(seconds: float) -> None:
    """End after this many seconds of work: whoever asked may not be there any more to end it."""
    if sys.platform == "win32":
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 2
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
