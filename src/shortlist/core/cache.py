"""Where machine code is kept between two starts, and when it is out of date.

Numba's own cache looks at the file of a function, not at those of the functions it calls. Here the stamp
of a function is a hash of all the code it is made of: its own, that of all it calls, the values of
the constants they use and the layout of the records they read. So an edit or an upgrade never runs old
machine code, and an edit of other code compiles nothing anew. The CPU and the version of Numba are in
Numba's own index.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import IO, Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.registry import cpu_target

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: two processes may compile the same)
    fcntl = None  # type: ignore[assignment]


def fingerprint(function: Callable[..., Any], *more: object) -> str:
    """A hash of all the code that a function is made of, and of ``more``."""
    digest = hashlib.sha256(repr((numba.__version__, llvmlite.__version__, more)).encode())
    pending, seen = [_written(function)], set()
    while pending:
        written = pending.pop()
        if written is None or written in seen:
            continue
        seen.add(written)
        digest.update(written.__qualname__.encode())
        _add_code(digest, written.__code__, written.__doc__)
        for name, value in used(written).items():
            called = _written(value)
            if called is not None:
                digest.update(f"{name}={called.__module__}.{called.__qualname__}".encode())
                pending.append(called)
            else:
                digest.update(f"{name}={_constant(value)}".encode())
    return digest.hexdigest()


def _written(value: Any) -> FunctionType | None:
    """The Python function behind a compiled one or a rule; None of anything else."""
    written = getattr(value, "py_func", value)
    return written if isinstance(written, FunctionType) else None


def used(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function as written uses of its module, by name."""
    names: set[str] = set()
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    return {
        name: function.__globals__[name] for name in sorted(names & function.__globals__.keys())
    }


def _add_code(digest: Any, code: CodeType, doc: str | None) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_freevars)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add_code(digest, constant, None)
        elif constant is None or constant != doc:
            digest.update(repr(constant).encode())


def _constant(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, ModuleType):
        return value.__name__
    return repr(value)


@cache
def places(beside: Path) -> tuple[Path, ...]:
    """Where machine code may be: $NUMBA_CACHE_DIR, or beside the source and in the user's own cache."""
    own = hashlib.sha256(str(beside).encode()).hexdigest()[:16]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    return (Path(chosen, own),) if chosen else (beside / "__pycache__", _users() / own)


@cache
def writable(beside: Path) -> Path | None:
    """The first of these places that can be written to."""
    for place in places(beside):
        try:
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
        except OSError:
            continue
        return place
    return None


def _users() -> Path:
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "shortlist"


class _Cached(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in this place and under this stamp."""

    def __init__(self, function: Callable[..., Any], place: Path, kind: str, stamp: str) -> None:
        # Functions of this package have one name each, and new code takes the place of the old. Those
        # of others may share a name.
        own = function.__module__.startswith("shortlist.")
        name = kind if own else f"{kind}-{stamp[:16]}"

        class Locator(_CacheLocator):  # type: ignore[misc]
            _py_file = function.__code__.co_filename

            def get_cache_path(self) -> str:
                return str(place)

            def get_source_stamp(self) -> str:
                return stamp

            def get_disambiguator(self) -> str:
                return name

            @classmethod
            def from_function(cls, py_func: Any, py_file: str) -> Any:
                return cls()

        class Implementation(CompileResultCacheImpl):  # type: ignore[misc]
            _locator_classes = (Locator,)

        self._impl_class = Implementation
        super().__init__(function)

    def holds(self, signature: Any) -> bool:
        """Whether it has machine code for this signature and CPU."""
        key = self._index_key(signature, cpu_target.target_context.codegen())
        return key in self._cache_file._load_index()


class MachineCode(NullCache):  # type: ignore[misc]
    """The cache that a function of Numba is given: reads wherever there is something, writes where it may."""

    def __init__(
        self, function: Callable[..., Any], kind: str, signature: Any, options: dict[str, Any]
    ) -> None:
        beside = Path(function.__code__.co_filename).parent
        self._function, self._kind = function, kind
        stated = sorted((name, str(value)) for name, value in options.items())
        self._stamp = fingerprint(function, str(signature), stated)
        # What was typed at a prompt has no file, and is not kept.
        from_file = os.path.exists(function.__code__.co_filename)
        self._writable = writable(beside) if from_file else None
        self._places = [place for place in places(beside) if place.is_dir()] if from_file else []

    def _in(self, place: Path) -> _Cached:
        return _Cached(self._function, place, self._kind, self._stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None."""
        for place in self._places:
            # Numba would first load all that it knows of types, which takes half a second: what is
            # compiled already needs none of it.
            found = self._in(place)._load_overload(sig, target_context)
            if found is not None:
                return found
        return None

    def holds(self, signature: Any) -> bool:
        """Whether machine code for this signature is there."""
        return any(self._in(place).holds(signature) for place in self._places)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it; a full disk only means that the next start compiles again."""
        if self._writable is not None:
            with suppress(OSError):
                self._in(self._writable).save_overload(sig, data)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one process compile this function while others wait for what it makes."""
        if self._writable is None or fcntl is None:
            yield
            return
        lock, place = _lock(self._writable), int(self._stamp[:7], 16)  # a byte of the file for each
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX, 1, place)
        except OSError:  # a file system without locks: both compile
            yield
            return
        try:
            yield
        finally:
            fcntl.lockf(lock, fcntl.LOCK_UN, 1, place)


@cache
def _lock(place: Path) -> IO[bytes]:
    """The file that processes lock, opened once: closing it would give up all its locks."""
    return (place / "shortlist.lock").open("ab")
