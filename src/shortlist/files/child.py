"""The process that reads files for another one: it answers requests until nobody asks any more."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import InvalidInput
from shortlist.files.guard import LENGTHS

IDLE = 30.0  # seconds, then it ends by itself
OVERHEAD = 512 << 20  # bytes that libraries take for themselves while they read

Send = Callable[[dict[str, Any], NDArray[Any]], None]


class TooLarge(MemoryError):
    """What a file declares would take more memory than it may."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


def check_size(needed: int, most: int) -> None:
    """Raise before memory is taken that a file may not take."""
    if not 0 <= needed <= most:
        raise TooLarge(needed)


def serve() -> None:
    """Answer requests from stdin on stdout; what libraries print goes nowhere."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if sys.platform != "win32":
        import resource

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


def _say(answers: BinaryIO, words: dict[str, Any], block: NDArray[Any] | None = None) -> None:
    if block is None:
        said, data = json.dumps(words, default=str).encode(), memoryview(b"")
    else:
        block = np.ascontiguousarray(block)
        about = {"dtype": block.dtype.str, "shape": block.shape}
        said, data = json.dumps({**words, **about}, default=str).encode(), block.reshape(-1).data
    answers.write(LENGTHS.pack(len(said), data.nbytes))
    answers.write(said)
    answers.write(data)
    answers.flush()


def _limit_memory(more: int | None) -> None:
    """Let the process take so much more memory and no more; None: as much as it likes."""
    if sys.platform != "linux":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = hard
    if more is not None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + more
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _limit_time(seconds: float) -> None:
    """End after so many seconds of work: whoever asked may not be there any more to end it."""
    if sys.platform == "win32":
        return
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(usage.ru_utime + usage.ru_stime + seconds) + 2
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
