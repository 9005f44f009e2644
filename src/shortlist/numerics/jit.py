"""Functions that are written once, and run as machine code or by the interpreter.

``@compiled()`` makes a ``Function`` of a small function of numbers, arrays and records. Called from Python it
runs as machine code, which is made at the first call and kept on disk; compiled callers have it
compiled into them; ``address`` gives it to compiled code that calls it by a pointer; ``interpret``
runs it, and all that it calls, by the interpreter.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from operator import attrgetter
from types import CodeType, ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast

import numba
import numpy as np
from numba.extending import typeof_impl

from shortlist.numerics.cache import is_kept, keeping
from shortlist.numerics.records import (
    BOOLEAN,
    INTEGER,
    KEY,
    REAL,
    VOID,
    Address,
    RecordType,
    signature_of,
)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
REASSOCIATE = {"contract", "nsz", "reassoc"}
ANNOTATED = "annotated"  # in place of a signature: what the annotations state


# How Python's arguments become C's, and what these are.
_CONVERTED: dict[Any, Callable[[Any], Any]] = {INTEGER: int, KEY: int, REAL: float, BOOLEAN: bool}
_CTYPES: dict[Any, Any] = {
    VOID: None,
    BOOLEAN: ctypes.c_bool,
    INTEGER: ctypes.c_int64,
    KEY: ctypes.c_uint64,
    REAL: ctypes.c_double,
}
_address_of = attrgetter("address")


class _Mode(threading.local):
    interpreting = False


_mode = _Mode()


class _Interpreted:
    seconds = 0.0


_interpreted = _Interpreted()
STEP = 3e-7  # seconds that the interpreter takes for a step of an inner loop
PATIENCE = 6.0  # seconds of interpreting after which compiling pays: about as long as that takes


def compile_at_once() -> None:
    """Interpret nothing from now on: compile whatever is called."""
    _interpreted.seconds = PATIENCE


@contextmanager
def interpreting() -> Iterator[None]:
    """Have every function called in here run by the interpreter."""
    before, _mode.interpreting = _mode.interpreting, True
    try:
        with np.errstate(all="ignore"):  # machine code does not warn either
            yield
    finally:
        _mode.interpreting = before


class Function(Generic[Arguments, Result]):
    """A function that is compiled when machine code of it is wanted; ``py_func`` is it as written."""

    def __init__(
        self,
        function: Callable[Arguments, Result],
        signature: Any,
        *,
        inline: bool = False,
        fast: bool = False,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self._given = signature
        self._fast = fast
        self._inline = inline
        self._options = {**OPTIONS, "fastmath": REASSOCIATE} if fast else OPTIONS

    @cached_property
    def signature(self) -> Any:
        """What it takes and returns; None where that follows from the arguments."""
        return signature_of(self.py_func) if self._given is ANNOTATED else self._given

    def __call__(self, *arguments: Arguments.args, **names: Arguments.kwargs) -> Result:
        """Run it, as machine code unless within ``interpreting``."""
        if _mode.interpreting or numba.config.DISABLE_JIT:
            return self.py_func(*arguments, **names)
        return cast(Result, self._machine_code(*arguments, **names))

    @cached_property
    def _machine_code(self) -> Callable[..., Any]:
        """What runs its machine code, by its address if all arguments are numbers and records."""
        if not self._is_plain:
            call = self._dispatcher
            return lambda *arguments: call(*map(_writable, arguments))
        # Numba's own way to call from Python takes 5 microseconds for every record.
        convert = [_CONVERTED.get(each, _address_of) for each in self.signature.args]
        kinds = [_CTYPES.get(each, ctypes.c_void_p) for each in self.signature.args]
        call = ctypes.CFUNCTYPE(_CTYPES[self.signature.return_type], *kinds)(self.address)

        def run(*arguments: Any) -> Any:
            return call(*[change(each) for change, each in zip(convert, arguments, strict=True)])

        return run

    @cached_property
    def _is_plain(self) -> bool:
        """Whether all arguments are numbers and records, which a call to C can pass."""
        taken = () if self.signature is None else self.signature.args
        plain = [each in _CONVERTED or isinstance(each, RecordType) for each in taken]
        return len(plain) > 0 and all(plain)

    def interpret(self, *arguments: Arguments.args, **names: Arguments.kwargs) -> Result:
        """Run it and all that it calls by the interpreter."""
        with interpreting():
            return self.py_func(*arguments, **names)

    def sparing(
        self, steps: float, *called: Function[..., Any], exact: bool | None = None
    ) -> Callable[Arguments, Result]:
        """The function as machine code if that is there or pays; else run by the interpreter.

        ``steps`` is about how often its innermost loops go round, and ``called`` are the functions that
        it calls by address. ``exact`` says that the interpreter gives the same bits for these arguments;
        by default it does where nothing that could be called is ``fast``. As in the ski-rental problem,
        compiling begins when interpreting has cost as much: together they never take much more than
        twice what the better of the two would have taken.
        """
        if (
            _interpreted.seconds + steps * STEP > PATIENCE
            or not (self._is_exact_with(*called) if exact is None else exact)
            or (self.is_kept() and all(each.is_kept(by_address=True) for each in called))
        ):
            return self
        return self._interpret_timed

    def _is_exact_with(self, *called: Function[..., Any]) -> bool:
        return self.is_exact and all(each.is_exact for each in called)

    @cached_property
    def is_exact(self) -> bool:
        """Whether the interpreter gives the same bits: nothing that it calls is ``fast``."""
        called = [_function_of(value) for value in used(self.py_func)]
        return not self._fast and all(each.is_exact for each in called if each is not None)

    def _interpret_timed(self, *arguments: Arguments.args, **names: Arguments.kwargs) -> Result:
        begun = time.thread_time()
        try:
            return self.interpret(*arguments, **names)
        finally:
            _interpreted.seconds += time.thread_time() - begun

    def is_kept(self, *, by_address: bool = False) -> bool:
        """Whether its machine code is loaded, or can be without compiling."""
        if by_address or self._is_plain:
            return "_callback" in self.__dict__ or is_kept(self.py_func, "address")
        return "_dispatcher" in self.__dict__ or is_kept(self.py_func, "python")

    @cached_property
    def _dispatcher(self) -> Any:
        """What Python calls where an argument is an array."""

        def make(cache: bool) -> Any:
            decorate = numba.njit(
                self.signature, cache=cache, no_cfunc_wrapper=True, **self._options
            )
            return decorate(self.py_func)

        if self.signature is None:
            return make(cache=False)
        return self._made(make, "python")

    @cached_property
    def _callback(self) -> Any:
        """What has an address."""

        def make(cache: bool) -> Any:
            options = {**self._options, "forceinline": True}  # into the wrapper that is called
            return numba.cfunc(self.signature, cache=cache, **options)(self.py_func)

        # If two threads get here at once, both use what the first has made; the other is discarded.
        return self.__dict__.setdefault("_callback", self._made(make, "address"))

    def _made(self, make: Callable[[bool], Any], kind: str) -> Any:
        """Machine code, loaded or compiled; kept on disk if the function is this package's."""
        own = self.py_func.__module__.startswith("shortlist.")
        with _notice_of_compiling(own and is_kept(self.py_func, kind)):
            # What is damaged is deleted the first time, and made anew the second. Where nothing
            # can be written, both fail, and the machine code is this process's alone.
            for _ in range(2 if own else 0):
                with suppress(Exception), keeping(self.py_func, kind):
                    return make(True)
            return make(False)

    @property
    def address(self) -> int:
        """Where its machine code is, for compiled callers that are given a pointer."""
        return cast(int, self._callback.address)

    @cached_property
    def pointer(self) -> Pointer:
        """What a compiled function is given that takes it as an argument."""
        return Pointer(self)

    @cached_property
    def _part(self) -> Any:
        """What compiled code calls."""
        return numba.njit(
            self.signature,
            forceinline=self._inline,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=True,
            **self._options,
        )(self.py_func)

    def compile(self) -> None:
        """Make its machine code for callers that are given its address, or raise what Numba says."""
        self._callback  # noqa: B018  (made when first asked for)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name where it is this package's; else Numba knows how to send functions."""
        if self.py_func.__module__.startswith("shortlist."):
            return _find, (self.py_func.__module__, self.py_func.__qualname__)
        sent = self.py_func if numba.config.DISABLE_JIT else numba.njit(self.py_func)
        return _revive, (sent, self.signature, self._inline, self._fast)


@typeof_impl.register(Function)  # type: ignore[untyped-decorator]
def type_in_callers(function: Function[..., Any], context: Any) -> Any:
    """How Numba sees a function in the code of a caller."""
    return numba.typeof(function._part)


class Pointer:
    """A function as an argument of another: an address to compiled code, callable by the interpreter."""

    def __init__(self, function: Function[..., Any]) -> None:
        self._function = function

    @property
    def signature(self) -> Any:
        """What the function takes and returns."""
        return self._function.signature

    @property
    def address(self) -> int:
        """Where its machine code is."""
        return self._function.address

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self._function(*arguments)


typeof_impl.register(Pointer)(lambda pointer, context: Address(pointer.signature))


def _writable(value: Any) -> Any:
    """The value itself, or a copy of an array that is read-only, which Numba has another type for."""
    if isinstance(value, np.ndarray) and not value.flags.writeable:
        return value.copy()
    return value


def used(function: Callable[..., Any]) -> list[Any]:
    """What a function as written uses of its module, and of the modules named there."""
    names: set[str] = set()
    pending = [function.__code__]
    while pending:
        code = pending.pop()
        names.update(code.co_names)
        pending += [each for each in code.co_consts if isinstance(each, CodeType)]
    found = [function.__globals__[name] for name in names & function.__globals__.keys()]
    for module in [each for each in found if isinstance(each, ModuleType)]:
        found += [vars(module)[name] for name in names & vars(module).keys()]
    return found


def _function_of(value: Any) -> Function[..., Any] | None:
    """The function itself, or that of a rule; None of anything else."""
    value = getattr(value, "function", value)
    return value if isinstance(value, Function) else None


def _find(module: str, name: str) -> Any:
    return _function_of(getattr(import_module(module), name))


def _revive(function: Any, signature: Any, inline: bool, fast: bool) -> Any:
    return Function(getattr(function, "py_func", function), signature, inline=inline, fast=fast)


def compiled(
    signature: Any | None = None,
    *,
    typed: bool = False,
    inline: bool | None = None,
    fast: bool = False,
) -> Callable[[Callable[Arguments, Result]], Function[Arguments, Result]]:
    """Make a ``Function`` of a function.

    With ``typed`` its types are those of its annotations, without a signature those of a call. With
    ``inline``, which is the default for the latter, its code becomes part of its callers'
    (``forceinline``: Numba's own ``inline="always"`` copies sources instead, which made compiling twice as
    long). With ``fast``, sums may be taken in another order, several terms at a time: four times as
    fast over many arms, and the last digit may differ from the interpreter's.
    """

    def decorate(function: Callable[Arguments, Result]) -> Function[Arguments, Result]:
        stated = ANNOTATED if typed else signature
        within = stated is None if inline is None else inline
        return Function(function, stated, inline=within, fast=fast)

    return decorate


def _notice_of_compiling(is_kept: bool) -> AbstractContextManager[None]:
    """Tell the user why it takes a while, unless there is nothing to compile."""
    words = "compiling for this machine: once only, some seconds"
    return nullcontext() if is_kept else notice(words, once=True)


_said: set[str] = set()


@contextmanager
def notice(words: str, after: float = 2.0, *, once: bool = False) -> Iterator[None]:
    """Print what takes so long if it takes more than ``after`` seconds; ``once`` in a process if asked."""

    def say() -> None:
        if not (once and words in _said):
            _said.add(words)
            print(f"shortlist: {words}", file=sys.stderr)

    timer = threading.Timer(after, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
