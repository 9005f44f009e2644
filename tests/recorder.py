"""Sees every write that SQLite makes in this process: records it, or refuses it as a full disk does.

The functions by which SQLite writes are reached through its default file system interface
(https://www.sqlite.org/vfs.html), and put back afterwards.
"""

from __future__ import annotations

import _sqlite3
import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

OK, FULL = 0, 13
OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
DELETE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
SECTOR = 512  # bytes that a disk writes whole or not at all


class Vfs(Structure):
    _fields_ = [
        *((name, c_int) for name in ("version", "file_size", "longest_path")),
        *((name, c_void_p) for name in ("next", "name", "data", "open", "delete")),
    ]


class Methods(Structure):
    _fields_ = [
        ("version", c_int),
        *((name, c_void_p) for name in ("close", "read", "write", "truncate", "sync")),
        *((f"other_{number}", c_void_p) for number in range(13)),
    ]


@dataclass
class Recorder:
    """What was written since it was switched on.

    Attributes
    ----------
    log : list of tuple
        ``("write", path, offset, bytes)``, ``("truncate", path, size)``, ``("sync", path)``,
        ``("delete", path)`` and what the caller adds.
    writes : int
        How many writes were tried.
    full_from, full_until : int
        The writes that are refused, by number.
    """

    log: list[tuple[Any, ...]] = field(default_factory=list)
    writes: int = 0
    full_from: int = 1 << 62
    full_until: int = 1 << 62

    def refuses(self) -> bool:
        self.writes += 1
        return self.full_from <= self.writes - 1 < self.full_until


@contextmanager
def recording() -> Iterator[Recorder]:
    """Records what SQLite writes to the files that are opened within."""
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = POINTER(Vfs)
    vfs = library.sqlite3_vfs_find(None).contents
    recorder = Recorder()
    paths: dict[int, str] = {}
    kept: list[Any] = []  # what SQLite points to must stay
    tables: dict[int, Methods] = {}
    opened, deleted = OPEN(vfs.open), DELETE(vfs.delete)

    def wrap(original: Methods) -> Methods:
        write, truncate = WRITE(original.write), TRUNCATE(original.truncate)
        sync = SYNC(original.sync)

        def on_write(file: int, data: int, size: int, offset: int) -> int:
            if recorder.refuses():
                return FULL
            recorder.log.append(("write", paths[file], offset, ctypes.string_at(data, size)))
            return write(file, data, size, offset)

        def on_truncate(file: int, size: int) -> int:
            recorder.log.append(("truncate", paths[file], size))
            return truncate(file, size)

        def on_sync(file: int, flags: int) -> int:
            recorder.log.append(("sync", paths[file]))
            return sync(file, flags)

        made = Methods.from_buffer_copy(original)
        calls = WRITE(on_write), TRUNCATE(on_truncate), SYNC(on_sync)
        kept.extend((made, calls))
        made.write, made.truncate, made.sync = (ctypes.cast(c, c_void_p).value for c in calls)
        return made

    def on_open(self: int, name: int | None, file: int, flags: int, out: int) -> int:
        said = opened(self, name, file, flags, out)
        methods = c_void_p.from_address(file)
        if said == OK and methods.value and name is not None:
            paths[file] = ctypes.string_at(name).decode()
            if methods.value not in tables:
                tables[methods.value] = wrap(Methods.from_address(methods.value))
            methods.value = ctypes.addressof(tables[methods.value])
        return said

    def on_delete(self: int, name: int, durably: int) -> int:
        recorder.log.append(("delete", ctypes.string_at(name).decode()))
        return deleted(self, name, durably)

    calls = OPEN(on_open), DELETE(on_delete)
    before = vfs.open, vfs.delete
    vfs.open, vfs.delete = (ctypes.cast(call, c_void_p).value for call in calls)
    _ALIVE.append((kept, calls, tables))  # files opened within may be closed much later
    try:
        yield recorder
    finally:
        vfs.open, vfs.delete = before


_ALIVE: list[Any] = []


def after_power_cut(
    log: list[tuple[Any, ...]], folder: Path, random: np.random.Generator
) -> dict[str, bytes]:
    """The files of a folder after the power was cut at the end of a log.

    What was synced is there. Of what was written since, any part may be there: nothing, all, or
    each sector or not.
    """
    files: dict[str, bytearray] = {}
    waiting: dict[str, list[tuple[Any, ...]]] = {}
    for action, *what in log:
        path = what[0]
        if action in ("write", "truncate"):
            waiting.setdefault(path, []).append((action, *what[1:]))
        elif action == "sync":
            for each in waiting.pop(path, []):
                _apply(files.setdefault(path, bytearray()), *each)
        elif action == "delete":
            files.pop(path, None)
            waiting.pop(path, None)
    for path, late in waiting.items():
        fate = random.integers(3)  # nothing, all, or parts
        if fate == 0 and path not in files and random.random() < 0.5:
            continue  # not even the file itself
        content = files.setdefault(path, bytearray())
        for each in late:
            if fate == 1:
                _apply(content, *each)
            elif fate == 2 and random.random() < 0.7:
                _apply(content, *each, random=random)
    beside = str(folder)
    return {Path(p).name: bytes(c) for p, c in files.items() if p.startswith(beside)}


def _apply(
    content: bytearray,
    action: str,
    place: int,
    data: bytes = b"",
    random: np.random.Generator | None = None,
) -> None:
    if action == "truncate":
        del content[place:]
        return
    torn = random is not None and random.random() < 0.5
    for start in range(0, len(data), SECTOR):
        if torn and random is not None and random.random() < 0.5:
            continue
        part, at = data[start : start + SECTOR], place + start
        if len(content) < at:
            content.extend(bytes(at - len(content)))
        content[at : at + len(part)] = part
