"""Where machine code is kept between two starts, and when it is out of date.

Numba's own cache looks at the file of a function, not at those of the functions it calls. Here the stamp
of a function is a hash of all the code it is made of: its own, that of all it calls, the values of
the constants they use, the layout of the records they read, and the files that say how to compile. So an
edit or an upgrade never runs old machine code, and an edit of other code compiles nothing again.
The CPU is in Numba's own index.
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
from pickle import UnpicklingError
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator
from numba.core.registry import cpu_target

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows: two processes may compile the same)
    fcntl = None  # type: ignore[assignment]


class Unstable(Exception):
    """A function uses something that has another description at every start."""


def fingerprint(function: Any, *more: object) -> str:
    """A hash of all the code that a function is made of, and of ``more``."""
    described: list[object] = [numba.__version__, llvmlite.__version__, _compiler(), more]
    pending: list[Any] = [function]
    seen: set[FunctionType] = set()
    while pending:
        value = pending.pop()
        written = _written(value)
        if written is None or written in seen:
            continue
        seen.add(written)
        cells = [cell.cell_contents for cell in written.__closure__ or ()]
        defaults = [*(written.__defaults__ or ()), *(written.__kwdefaults__ or {}).items()]
        named = used(written)
        pending += [each for each in (*named.values(), *cells) if _written(each) is not None]
        described += [
            (written.__module__, written.__qualname__, _stated(value)),
            _code(written.__code__, written.__doc__),
            [(name, _constant(each)) for name, each in named.items()],
            [_constant(each) for each in (*cells, *defaults)],
        ]
    return hashlib.sha256(repr(described).encode()).hexdigest()


@cache
def _compiler() -> str:
    """A hash of the files that say how functions are compiled."""
    files = [Path(__file__).with_name(f"{name}.py") for name in ("jit", "lowering", "records")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _written(value: Any) -> FunctionType | None:
    """The Python function behind a compiled one or a rule; None of anything else."""
    written = getattr(value, "py_func", value)
    return written if isinstance(written, FunctionType) else None


def _stated(value: Any) -> str:
    """What a compiled function or a rule states of its types and options."""
    return str(getattr(getattr(value, "function", value), "stated", ""))


def used(function: Callable[..., Any]) -> dict[str, Any]:
    """What a function as written uses of its module, by name; of other modules, attributes."""
    names: set[str] = set()
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = {name: function.__globals__[name] for name in names & function.__globals__.keys()}
    for module in [each for each in found.values() if isinstance(each, ModuleType)]:
        for name in names & vars(module).keys():
            found[f"{module.__name__}.{name}"] = vars(module)[name]
    return dict(sorted(found.items()))


def _code(code: CodeType, doc: str | None) -> tuple[object, ...]:
    constants = [
        _code(each, None) if isinstance(each, CodeType) else (type(each).__name__, repr(each))
        for each in code.co_consts
        if each is None or each != doc
    ]
    return code.co_code, code.co_names, code.co_freevars, constants


def _constant(value: Any) -> object:
    """The same for equal values at every start."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, tuple | list):
        return [_constant(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))  # in an order that does not change from start to start
    if isinstance(value, ModuleType):
        return value.__name__
    written = _written(value)
    named = value if written is None else written
    if callable(value) and hasattr(named, "__qualname__"):
        return getattr(named, "__module__", ""), named.__qualname__
    described = repr(value)
    if " at 0x" in described:
        raise Unstable(described)
    return type(value).__name__, described


@cache
def places(beside: Path) -> tuple[Path, ...]:
    """Where machine code may be: $NUMBA_CACHE_DIR, or beside the source and in the user's own cache."""
    own = hashlib.sha256(str(beside).encode()).hexdigest()[:16]
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return (Path(chosen, own).absolute(),)
    users = _users()
    return (beside / "__pycache__", *([] if users is None else [users / own]))


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


def _users() -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home, as in some containers
        return None
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return (base / "shortlist").absolute()


class _Cached(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in this place and under this stamp."""

    def __init__(self, function: Callable[..., Any], place: Path, kind: str, stamp: str) -> None:
        # Numba writes the index before the code: with the stamp in their names, an index never points
        # at what an earlier version has left.
        name = f"{kind}-{stamp[:16]}"

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

    def forget_others(self) -> None:
        """Delete what earlier versions of the function have left."""
        base = self._impl.filename_base
        name, _, rest = base.rpartition("-")
        for file in Path(self.cache_path).glob(f"{name}-*{rest[16:]}.*"):
            if not file.name.startswith(base):
                file.unlink(missing_ok=True)


class MachineCode(NullCache):  # type: ignore[misc]
    """The cache that a function of Numba is given: reads wherever it can, writes where it may.

    What cannot be read or written, be it damaged, closed to this user or on a full disk, is as if it were
    not there: then the function is compiled.
    """

    def __init__(self, function: Any, kind: str) -> None:
        written = _written(function)
        assert written is not None
        self._function, self._kind, self._stamp = written, kind, ""
        self._places: list[Path] = []
        self._writable: Path | None = None
        source = Path(written.__code__.co_filename)
        # What was typed at a prompt has no file, and is not kept.
        with suppress(Unstable, OSError):
            self._stamp = fingerprint(function, kind)
            if source.exists():
                self._writable = writable(source.parent)
                self._places = list(places(source.parent))

    def _in(self, place: Path) -> _Cached:
        return _Cached(self._function, place, self._kind, self._stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before, or None."""
        for place in self._places:
            # Numba would first load all that it knows of types, which takes half a second: what is
            # compiled already needs none of it.
            with suppress(Exception):
                found = self._in(place)._load_overload(sig, target_context)
                if found is not None:
                    return found
        return None

    def holds(self, signature: Any) -> bool:
        """Whether machine code for this signature is there."""
        for place in self._places:
            with suppress(Exception):
                if self._in(place).holds(signature):
                    return True
        return False

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it, and forget what earlier versions have left."""
        if self._writable is None:
            return
        with suppress(Exception):
            kept = self._in(self._writable)
            try:
                kept.save_overload(sig, data)
            except (EOFError, UnpicklingError):  # a damaged index
                kept.flush()
                kept.save_overload(sig, data)
            if self._function.__module__.startswith("shortlist."):
                kept.forget_others()  # functions of this package have one name each

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let one process compile this function while others wait for what it makes."""
        held = None
        if self._writable is not None and fcntl is not None:
            with suppress(OSError):  # a file system without locks, or another user's: both compile
                place = int(self._stamp[:7], 16)  # a byte of the file for each function
                fcntl.lockf(_lock(self._writable), fcntl.LOCK_EX, 1, place)
                held = place
        try:
            yield
        finally:
            if held is not None and self._writable is not None:
                fcntl.lockf(_lock(self._writable), fcntl.LOCK_UN, 1, held)


@cache
def _lock(place: Path) -> int:
    """The file that processes lock, opened once: closing it would give up all its locks."""
    return os.open(place / "shortlist.lock", os.O_RDWR | os.O_CREAT, 0o666)
