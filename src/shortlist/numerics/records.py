"""Arrays and numbers under names, handed to compiled code as one pointer.

Numba hands a tuple of arrays over as seven or nine numbers per array in every call, and compiles
code to do so. A ``Record`` writes the address and the shape of each of its arrays into one table
when it is first handed over, and compiled code reads from there what it uses. Its attributes never
change (their contents may), and LLVM is told so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Annotated, Any, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numba import types
from numba.extending import (
    NativeValue,
    lower_getattr,
    make_attribute_wrapper,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numpy.typing import NDArray

VOID = types.void
BOOLEAN = types.boolean
INTEGER = types.int64
REAL = types.float64
KEY = types.uint64
REALS = types.Array(types.float64, 1, "C")
TABLE = types.Array(types.float64, 2, "C")
INTEGERS = types.Array(types.int64, 1, "C")
KEYS = types.Array(types.uint64, 1, "C")
MASK = types.Array(types.boolean, 1, "C")
GRID = types.Array(types.int64, 2, "C")
MASKS = types.Array(types.boolean, 2, "C")

Integer = Annotated[int, INTEGER]
Real = Annotated[float, REAL]
Reals = Annotated[NDArray[np.float64], REALS]
Table = Annotated[NDArray[np.float64], TABLE]
Integers = Annotated[NDArray[np.int64], INTEGERS]
Grid = Annotated[NDArray[np.int64], GRID]
Keys = Annotated[NDArray[np.uint64], KEYS]
Mask = Annotated[NDArray[np.bool_], MASK]
Masks = Annotated[NDArray[np.bool_], MASKS]

ABSENT: Any = None  # in place of a record or a function that compiled code will not look at

_PLAIN = {int: INTEGER, float: REAL, bool: BOOLEAN, np.uint64: KEY, type(None): VOID}
_DTYPES = {
    types.float64: np.dtype(np.float64),
    types.int64: np.dtype(np.int64),
    types.uint64: np.dtype(np.uint64),
    types.boolean: np.dtype(np.bool_),
}


def address_of(called: Any) -> int:
    """Where the machine code of a function or a rule is."""
    return int(called.address)


def Address(signature: Any) -> Any:  # noqa: N802  (it names a type)
    """The Numba type of a function that is called by its address: one number, one indirect call."""
    return types.ExternalFunctionPointer(signature, address_of)


@dataclass(frozen=True, eq=False)
class Record:
    """Base of the records: subclasses are frozen dataclasses, their fields annotated by the types above.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Pair(Record):
    ...     values: Reals
    ...     count: Integer
    >>> pair = Pair(values=np.zeros(2), count=3)
    >>> pair.replace(count=4).count
    4
    >>> Pair(values=np.zeros(2, np.int64), count=3).address
    Traceback (most recent call last):
        ...
    TypeError: Pair.values must be a C-contiguous array of float64 in 1 dimension...
    """

    @classmethod
    def zeros(cls, **given: Any) -> Self:
        """A record whose arrays are zeros of these shapes, or those given; the rest as it is given.

        Examples
        --------
        >>> @dataclass(frozen=True, eq=False)
        ... class Pair(Record):
        ...     values: Table
        ...     marks: Integers
        >>> Pair.zeros(values=(1, 2), marks=np.ones(1, np.int64))
        Pair(values=array([[0., 0.]]), marks=array([1]))
        """
        for name, dtype in record_type(cls).dtypes.items():
            if not isinstance(given[name], np.ndarray):
                given[name] = np.zeros(given[name], dtype)
        return cls(**given)

    def replace(self, **changes: Any) -> Self:
        """The same record with other values under some names."""
        return replace(self, **changes)

    def arrays(self) -> list[NDArray[Any]]:
        """The arrays of the record and of the records within, in order."""
        values = [getattr(self, field.name) for field in fields(self)]
        found = [v.arrays() if isinstance(v, Record) else [v] for v in values]
        return [each for part in found for each in part if isinstance(each, np.ndarray)]

    def mapped(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Self:
        """The same record, each array of it and of the records within replaced by another."""
        changes: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                changes[field.name] = change(value)
            elif isinstance(value, Record):
                changes[field.name] = value.mapped(change)
        return replace(self, **changes)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or a pickle takes along: not the table, which holds addresses."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _words(self) -> NDArray[np.int64]:
        words: list[int] = []
        for name, words_of in record_type(type(self)).writers:
            words += words_of(getattr(self, name))
        # If two threads get here at once, both use the table of the first; the other is discarded.
        kept: NDArray[np.int64] = self.__dict__.setdefault("_words", np.array(words, np.int64))
        return kept

    @cached_property
    def address(self) -> int:
        """Where the table is."""
        return self._words.ctypes.data


def _writer(member: Any, name: str) -> Callable[[Any], list[int]]:
    """What gives the words of one attribute; its type is looked at once, and not for every record."""
    if isinstance(member, RecordType | types.ExternalFunctionPointer):
        return lambda value: [0 if value is None else value.address]
    if not isinstance(member, types.Array):
        plain = _DTYPES[member]
        return lambda value: np.array([value], plain).view(np.int64).tolist()
    dtype, ndim = _DTYPES[member.dtype], member.ndim

    def words_of(value: Any) -> list[int]:
        if (
            not isinstance(value, np.ndarray)
            or value.dtype != dtype
            or value.ndim != ndim
            or not value.flags.c_contiguous
        ):
            raise TypeError(
                f"{name} must be a C-contiguous array of {dtype} in {ndim} dimension(s), "
                f"not {type(value).__name__} {getattr(value, 'dtype', '')}{getattr(value, 'shape', '')}"
            )
        return [value.ctypes.data, *value.shape]

    return words_of


class RecordType(types.Type):  # type: ignore[misc]
    """The Numba type of a record: where in its table each attribute is."""

    def __init__(self, cls: type[Record], members: dict[str, Any]) -> None:
        self.cls, self.members = cls, members
        arrays = {name: each for name, each in members.items() if isinstance(each, types.Array)}
        self.dtypes = {name: _DTYPES[each.dtype] for name, each in arrays.items()}
        self.writers = [
            (name, _writer(member, f"{cls.__name__}.{name}")) for name, member in members.items()
        ]
        layout = ", ".join(
            f"{name}: {getattr(each, 'sig', each)}" for name, each in members.items()
        )
        super().__init__(f"{cls.__module__}.{cls.__qualname__}({layout})")
        place = 0
        for name, member in members.items():
            _offer(self, name, member, place)
            place += 1 + (member.ndim if isinstance(member, types.Array) else 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by its class."""
        return record_type, (self.cls,)


@register_model(RecordType)
class _TableModel(models.StructModel):  # type: ignore[misc]
    """To Numba a record is a structure with one member, the address of its table."""

    def __init__(self, manager: Any, kind: RecordType) -> None:
        super().__init__(manager, kind, [("table", types.voidptr)])
        self._kinds = kind.members

    def get_member_fe_type(self, name: str) -> Any:
        """The type of an attribute, which is read from the table."""
        return self._kinds.get(name)


_offered: set[str] = set()


def _offer(kind: RecordType, name: str, member: Any, place: int) -> None:
    """Let compiled code read an attribute, whose words begin at this place of the table."""
    if name not in _offered:
        _offered.add(name)
        make_attribute_wrapper(RecordType, name, name)  # its type

    @lower_getattr(kind, name)  # type: ignore[untyped-decorator]
    def read(context: Any, builder: Any, _: Any, record: Any) -> Any:
        table = builder.extract_value(record, 0)

        def word(k: int, as_type: Any) -> Any:
            words = builder.bitcast(table, as_type.as_pointer())
            at = builder.gep(words, [context.get_constant(types.intp, place + k)], inbounds=True)
            loaded = builder.load(at)
            loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
            return loaded

        made = context.get_value_type(member)
        if not isinstance(member, types.Array):
            return word(0, made)
        # Numba's array: owner, parent (both none here), size, item size, data, shape, strides.
        size = made.elements[3](_DTYPES[member.dtype].itemsize)
        shape = [word(1 + k, made.elements[2]) for k in range(member.ndim)]
        strides, count = [size], shape[-1]
        for length in reversed(shape[:-1]):
            strides.insert(0, builder.mul(count, size))
            count = builder.mul(count, length)
        parts: dict[tuple[int, ...], Any] = {
            (2,): count,
            (3,): size,
            (4,): word(0, made.elements[4]),
        }
        parts |= {(5, k): length for k, length in enumerate(shape)}
        parts |= {(6, k): stride for k, stride in enumerate(strides)}
        array = made(None)
        for at, part in parts.items():
            array = builder.insert_value(array, part, at)
        return array


_made: dict[type[Record], RecordType] = {}


def record_type(cls: type[Record]) -> RecordType:
    """The Numba type of a class of records."""
    if cls in _made:
        return _made[cls]
    hints = get_type_hints(cls, include_extras=True)
    members = {field.name: _member(hints[field.name]) for field in fields(cls)}
    _made[cls] = RecordType(cls, members)
    return _made[cls]


@typeof_impl.register(Record)  # type: ignore[untyped-decorator]
def _type_of(record: Record, context: Any) -> RecordType:
    record.address  # noqa: B018  (made here, where an error is raised as it should be)
    return record_type(type(record))


@unbox(RecordType)  # type: ignore[untyped-decorator]
def _unbox(kind: RecordType, record: Any, c: Any) -> NativeValue:
    number = c.pyapi.object_getattr_string(record, "address")
    table = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.insert_value(c.context.get_value_type(kind)(None), table, 0))


def _member(hint: Any) -> Any:
    """The Numba type behind an annotation."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    if get_origin(hint) is tuple:
        return types.Tuple([_member(each) for each in get_args(hint)])
    if hint in _PLAIN:
        return _PLAIN[hint]
    if not (isinstance(hint, type) and issubclass(hint, Record)):
        raise TypeError(f"{hint} says nothing about a type of compiled code; annotate Reals, say")
    return record_type(hint)


def signature_of(function: Callable[..., Any]) -> Any:
    """The signature that the annotations of a function state.

    Examples
    --------
    >>> def total(values: Reals, first: int) -> float: ...
    >>> signature_of(total) == REAL(REALS, INTEGER)
    True
    """
    hints = get_type_hints(function, include_extras=True)
    returned = _member(hints.pop("return"))
    return returned(*(_member(hint) for hint in hints.values()))


LINE = 64  # bytes
SMALL = 1024  # NumPy hands blocks of fewer bytes from one thread to the next

Kind = TypeVar("Kind", bound=Record)


def on_own_line(array: NDArray[Any]) -> NDArray[Any]:
    """The array, copied to whole cache lines if it is small.

    Arrays of a few numbers that two threads write may lie side by side in one line of the cache,
    which the cores then take from each other at every write.

    Examples
    --------
    >>> on_own_line(np.ones(3, np.int64)).ctypes.data % LINE
    0
    >>> large = np.zeros(1000)
    >>> on_own_line(large) is large
    True
    """
    if not 0 < array.nbytes < SMALL:
        return array
    lines = np.zeros(LINE + -(-array.nbytes // LINE) * LINE, np.uint8)
    own: NDArray[Any] = np.ndarray(array.shape, array.dtype, lines, -lines.ctypes.data % LINE)
    own[...] = array
    return own


def on_own_lines(record: Kind) -> Kind:
    """The record with each of its small arrays, and of those within, on lines of their own."""
    return record.mapped(on_own_line)
