"""Blocks: what results share, such as a question, a patient, a simulator's seed or a plate.

A class for each kind, which is asked for its words, its seeds and what is stored of it; nobody else
asks which kind there is. A *cell* is an arm on a block.
"""

from __future__ import annotations

import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from shortlist.advice import advise, setting
from shortlist.arrays import NO_BLOCK, Label
from shortlist.errors import InvalidInput, InvalidSetting, unknown_among_many, unknown_name

MOST_BLOCKS = 10_000_000  # of a pool: tables of arms and blocks are kept
DIGITS = re.compile(r"\d{1,18}(\.0+)?", re.ASCII)  # spreadsheets make floats of them
LAST_NUMBER = 2**53  # of a block: a number that every program reads exactly
Numbers = dict[Label | None, int]  # by what a block is called
KINDS: dict[str, type[Blocks]] = {}  # by their words, filled where a class is defined


class Cell(NamedTuple):
    """An arm on a block, by their numbers; ``NO_BLOCK`` where there are no blocks."""

    arm: int
    block: int = NO_BLOCK


class Blocks(ABC):
    """What results share.

    Attributes
    ----------
    word : str
        What the kind is called where it is stored, and for most kinds in ``blocks=``.
    number : int or None
        How many blocks there are; None if there is no end of them.
    exist : bool
        Whether there are blocks at all.
    once : bool
        Whether a cell has one result, which is asked for once.
    names_cells : bool
        Whether a decision waits for single cells, so that no other result takes the place of one.
    shares_seed : bool
        Whether all trials of a block have the same seed.
    reseeds : bool
        Whether the blocks that follow results of another study are others than its blocks.
    shifts : bool
        Whether results of a block share an unknown shift, so that only their differences count.
    takes_controls : bool
        Whether arms that are never listed help to compare the others.
    renews : bool
        Whether a trial of a block can be evaluated later, by somebody else.
    heading : str
        What an assumption on them is called.

    Examples
    --------
    >>> Blocks.of(500).announcement
    'a pool of 500 blocks: the answer is about the mean over exactly these'
    >>> Blocks.of(["q1", "q2"]).index("q2"), Blocks.of("random").index(7)
    (1, 7)
    """

    word: ClassVar[str] = ""
    exist: ClassVar[bool] = True
    once: ClassVar[bool] = False
    names_cells: ClassVar[bool] = False
    shares_seed: ClassVar[bool] = True
    reseeds: ClassVar[bool] = True
    shifts: ClassVar[bool] = False
    takes_controls: ClassVar[bool] = False
    renews: ClassVar[bool] = True
    heading: ClassVar[str] = "Blocks"
    number: int | None = None

    def __init_subclass__(cls) -> None:
        if cls.word:
            KINDS[cls.word] = cls

    def __repr__(self) -> str:
        return f"<{self.announcement}>"

    # What a user states

    @staticmethod
    def of(stated: object) -> Blocks:
        """Check what was given for ``blocks``."""
        if isinstance(stated, Blocks):
            return stated
        if isinstance(stated, np.ndarray) and stated.ndim == 0:
            stated = stated.item()
        kind = next((each for each in KINDS.values() if each.recognizes(stated)), None)
        if kind is not None:
            return kind.stated(stated)
        words = [word for word, each in KINDS.items() if each.recognizes(word)]
        if isinstance(stated, str):
            raise unknown_name("blocks", stated, [*words, "a number of blocks", "a list of names"])
        raise InvalidSetting(
            "blocks must be the number of blocks in a pool, a list of their names, or one of "
            f"{', '.join(map(repr, words))}, got {stated!r}."
        )

    @classmethod
    def recognizes(cls, stated: object) -> bool:
        """Whether ``blocks`` states blocks of this kind; by default if it is its word."""
        return isinstance(stated, str) and stated == cls.word

    @classmethod
    def stated(cls, stated: Any) -> Blocks:
        """The blocks that were stated, which it recognizes."""
        return cls()

    # How they are stored

    @property
    def written(self) -> list[Any]:
        """Plain data from which ``read`` makes the same blocks."""
        return [self.word]

    @staticmethod
    def read(written: list[Any]) -> Blocks:
        """The blocks that ``written`` was made from.

        Examples
        --------
        >>> Blocks.read(["pool", 500]).number
        500
        """
        word, *rest = written
        if word not in KINDS:
            raise unknown_name("kind of blocks", str(word), KINDS)
        return KINDS[word](*rest)

    # Single blocks

    @abstractmethod
    def index(self, block: object) -> int:
        """The number of a block, which is given by its name or by the number itself."""

    def carried(self, block: Label | None, before: Numbers, fresh: int, group: str = "") -> int:
        """The number here of another study's block.

        ``before`` has those of its blocks that are here, and is added to; ``fresh`` is a number that
        no block has yet. ``group`` is the same for results that came together there.
        """
        return self.index(block)

    def check_source(self, there: Blocks) -> None:  # noqa: B027
        """Raise where results on blocks of another study say nothing here; ``there`` has its blocks."""

    def check_request(self, count: int) -> None:  # noqa: B027
        """Raise where it is of no use to ask for so many trials at once."""

    def room(self, batch: int, under_way: int) -> int:
        """How many trials a run asks for that keeps ``batch`` of them under way."""
        return batch - under_way

    def placed(self, cell: Cell, fresh: int) -> Cell:
        """The cell of a trial that is asked for now: by default the one that was decided on.

        ``fresh`` is the same for all trials of a request, and no block had this number before it.
        """
        return cell

    def label(self, index: int) -> int | str | None:
        """What a block of this number is called."""
        return index

    def is_known(self, index: int) -> bool:
        """Whether there can be a block of this number; one that is stored may have been altered."""
        return 0 <= index < LAST_NUMBER

    # Words

    @property
    def setting(self) -> str:
        """What was given for ``blocks``, in few words."""
        return repr(self.word)

    @property
    @abstractmethod
    def announcement(self) -> str:
        """What the blocks are, where a study begins."""

    @property
    def mean(self) -> str:
        """What an answer is about, in the middle of a sentence."""
        return "mean"

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What a proof assumes of the blocks, in few words; empty if nothing."""

    @property
    @abstractmethod
    def explanation(self) -> str:
        """What a proof assumes of the blocks, in full sentences."""

    @property
    def short(self) -> str:
        """What is assumed of them, in a line of many assumptions."""
        return self.assumption

    def assumed(self, suited: Callable[..., tuple[str, str]]) -> tuple[str, str, str]:
        """What a proof assumes of them: in few words, in sentences, in a line of many.

        ``suited`` is that of the noise.
        """
        return self.assumption, self.explanation, self.short

    def check_taken(self, algorithm: str, takes: tuple[str, ...]) -> None:
        """Raise where an algorithm ``takes`` other kinds of blocks, given by their words."""
        if self.word not in takes:
            raise InvalidSetting(self.refusal(algorithm))

    def refusal(self, algorithm: str) -> str:
        """Why an algorithm that does not work with such blocks is not used, and what to do."""
        return (
            f"{algorithm} knows nothing of blocks, and with blocks={self.setting} arms are compared "
            "within blocks: leave out algorithm= (Guess-and-verify is taken), or "
            "begin a study without blocks."
        )


class NoBlocks(Blocks):
    """Every result is drawn by itself."""

    word = "none"
    exist = False
    shares_seed = False
    heading = "Independence"

    @classmethod
    def recognizes(cls, stated: object) -> bool:
        """None."""
        return stated is None

    def index(self, block: object) -> int:
        """No block; raises for any other."""
        if block is None:
            return NO_BLOCK
        raise InvalidInput(
            f"block = {block!r} was given, but this study has no blocks: leave it out, or begin a "
            "study with blocks=…."
        )

    def check_source(self, there: Blocks) -> None:
        """Raise for results on blocks: they are not independent."""
        if there.exist:
            raise InvalidInput(
                "results on blocks are not carried over to a study without blocks, where every result "
                "is drawn by itself: nothing was told. Keep blocks=, or begin a study without these "
                "results."
            )

    def label(self, index: int) -> None:
        """Nothing."""
        return

    def is_known(self, index: int) -> bool:
        """Only ``NO_BLOCK``."""
        return index == NO_BLOCK

    def refusal(self, algorithm: str) -> str:
        """That the algorithm needs blocks."""
        return (
            f"{algorithm} compares arms within blocks, but no blocks were given: say what results "
            "share, such as blocks=500 (a pool of 500) or blocks='random', or take another algorithm."
        )

    @property
    def announcement(self) -> str:
        """That there are none."""
        return "none: every result is drawn by itself"

    @property
    def assumption(self) -> str:
        """Nothing."""
        return ""

    @property
    def short(self) -> str:
        """That results are independent."""
        return "independent results without drift"

    @property
    def explanation(self) -> str:
        """What a new result is."""
        return (
            "Whatever was asked and told before, a new result is the arm's mean plus fresh noise of "
            "mean zero. The means do not drift while the study runs."
        )


NO_BLOCKS = NoBlocks()


class Pool(Blocks):
    """A finite set of blocks: test questions, patients, folds. The answer is about these.

    Parameters
    ----------
    given : int or list of str
        How many there are, or their names.

    Examples
    --------
    >>> Pool(["ann", "bob"]).label(1), Pool(2).label(1)
    ('bob', 1)
    """

    word = "pool"
    once = True
    names_cells = True
    reseeds = False
    number: int

    def __init__(self, given: int | list[str]) -> None:
        self._names = None if isinstance(given, int) else tuple(given)
        self.number = given if isinstance(given, int) else len(given)

    @classmethod
    def recognizes(cls, stated: object) -> bool:
        """A number, or a sequence of names."""
        if isinstance(stated, bool | str | bytes) or stated is None:
            return False
        return isinstance(stated, numbers.Real | Sequence | np.ndarray) or hasattr(stated, "tolist")

    @classmethod
    def stated(cls, stated: Any) -> Pool:
        """The pool, if it has at least two blocks, and no two of one name."""
        if isinstance(stated, numbers.Real):
            if not isinstance(stated, numbers.Integral) or not 2 <= int(stated) <= MOST_BLOCKS:
                raise InvalidSetting(
                    f"blocks must be a whole number from 2 to {MOST_BLOCKS:,}, or a list of names, "
                    f"got {stated!r}."
                )
            return cls(int(stated))
        if getattr(stated, "ndim", 1) != 1:
            raise InvalidSetting(
                "blocks must be a number or a list of names, got an array of shape "
                f"{stated.shape}: give one name for each block."
            )
        for name in stated:
            if isinstance(name, bool | np.bool_) or not isinstance(name, str | numbers.Integral):
                raise InvalidSetting(
                    f"names of blocks must be texts or whole numbers, got {name!r} "
                    f"({type(name).__name__}): leave it out, or write its name as a text."
                )
        listed = [str(name) for name in stated]
        if not 2 <= len(listed) <= MOST_BLOCKS:
            raise InvalidSetting(
                f"blocks must be from 2 to {MOST_BLOCKS:,} names, got {len(listed):,}."
            )
        seen = set[str]()
        for name in listed:
            if not name.strip() or name in seen:
                what = f"the name {name!r} twice" if name.strip() else "a block without a name"
                raise InvalidSetting(f"blocks has {what}: every block needs a name of its own.")
            seen.add(name)
        return cls(listed)

    @property
    def written(self) -> list[Any]:
        """The word, and the number or the names."""
        return [self.word, self.number if self._names is None else list(self._names)]

    def index(self, block: object) -> int:
        """The number of a block: by its name where the blocks have names, else from 0 on."""
        if self._names is None or block is None:
            return _counted(block, self.number)
        found = self._places.get(str(block))
        if found is None:
            raise unknown_among_many("block", str(block), self._names)
        return found

    def check_source(self, there: Blocks) -> None:
        """Raise for results that are not of a pool."""
        if not there.once:
            raise InvalidInput(
                "a pool takes the results of a pool only, and those of the other study are on no "
                "blocks that have a name: nothing was told. Begin without these results."
            )

    def carried(self, block: Label | None, before: Numbers, fresh: int, group: str = "") -> int:
        """The same block; raises where this pool does not have it."""
        if block in self:
            return self.index(block)
        raise InvalidInput(
            f"the other study has a result on block {block!r}, which this pool does not have: nothing "
            "was told. State all blocks of the other study, or begin without its results."
        )

    def __contains__(self, block: object) -> bool:
        if self._names is None:
            return isinstance(block, int) and 0 <= block < self.number
        return str(block) in self._places

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names or ())}

    def label(self, index: int) -> int | str:
        """The name of a block, or its number."""
        return index if self._names is None else self._names[index]

    def is_known(self, index: int) -> bool:
        """Whether it is one of the pool."""
        return 0 <= index < self.number

    @property
    def setting(self) -> str:
        """How many there are."""
        return f"{self.number} (or their names)"

    @property
    def announcement(self) -> str:
        """How many there are."""
        return f"a pool of {self.number:,} blocks: the answer is about the mean over exactly these"

    @property
    def mean(self) -> str:
        """The mean over the pool."""
        return f"mean over the {self.number:,} blocks"

    @property
    def assumption(self) -> str:
        """That a cell has one result."""
        return "a result depends on its arm and its block alone"

    @property
    def explanation(self) -> str:
        """What the answer is about, and what is random."""
        return (
            f"The mean of an arm is that over the {self.number:,} blocks of the pool. An arm has one "
            "result on each, whenever it is evaluated, and nothing is assumed of how results "
            "depend on blocks. What is random is the order in which blocks are taken, which "
            "comes from the study's seed: whoever prepared the pool did not know it."
        )


class Random(Blocks):
    """Blocks that are drawn afresh, such as the seeds of a simulator or new patients."""

    word = "random"
    names_cells = True

    def check_source(self, there: Blocks) -> None:
        """Raise for results that are on no block."""
        if not there.exist:
            raise InvalidInput(
                "the results of the other study are on no blocks, and here arms are compared within "
                "blocks: nothing was told. Begin without these results."
            )

    def carried(self, block: Label | None, before: Numbers, fresh: int, group: str = "") -> int:
        """A number of its own: equal numbers are other blocks there and here."""
        self.index(block)
        return before.setdefault(block, fresh)

    def index(self, block: object) -> int:
        """The number of a block."""
        return _counted(block, LAST_NUMBER)

    @property
    def announcement(self) -> str:
        """Where they come from."""
        return "drawn afresh, and shared by all arms in doubt"

    @property
    def assumption(self) -> str:
        """How they are drawn."""
        return "every block is drawn afresh"

    @property
    def explanation(self) -> str:
        """What is assumed of them."""
        return (
            "Blocks are drawn independently of each other and of what was asked and told before, "
            "from one distribution that does not change while the study runs."
        )

    def assumed(self, suited: Callable[..., tuple[str, str]]) -> tuple[str, str, str]:
        """How they are drawn, and what results on a block may share: it depends on the noise."""
        words, more = suited(SHARE_A_SHIFT, SHARE_ANYTHING, NORMAL_DIFFERENCES)
        return self.assumption + words, f"{self.explanation} {more}", self.assumption + words


SHARE_ANYTHING = "", "Results on one block may depend on each other in any way."
NORMAL_DIFFERENCES = (
    ", and differences of its results are normal",
    "Differences of results on one block are jointly normal; nothing is assumed of their variances and "
    "correlations.",
)
SHARE_A_SHIFT = (
    ", and its results share no more than a shift",
    "What results on one block share is the same for all arms, and the rest is independent: σ is the noise "
    "within a block. If results of two arms go apart on the same blocks, the claim does not hold.",
)


class Shift(Blocks):
    """Blocks whose results share a shift, whatever it is: plates, days, operators.

    Every request is a block of its own. Its trials have seeds of their own: their noise does not
    come from the block.

    Examples
    --------
    >>> Shift().placed(Cell(3), 7)
    Cell(arm=3, block=7)
    """

    word = "shift"
    shares_seed = False
    shifts = True
    takes_controls = True
    renews = False  # evaluated later it would have another shift

    def index(self, block: object) -> int:
        """The number of a block."""
        return _counted(block, LAST_NUMBER)

    def placed(self, cell: Cell, fresh: int) -> Cell:
        """The cell on the block that is asked for now."""
        return cell._replace(block=fresh)

    def carried(self, block: Label | None, before: Numbers, fresh: int, group: str = "") -> int:
        """A number of its own; without blocks there, one for results that came together."""
        return before.setdefault(group if block is None else block, fresh)

    def check_request(self, count: int) -> None:
        """Raise for one trial: there is nothing on its block to compare it with."""
        if count < 2:
            raise InvalidSetting(
                f"with {setting('blocks', 'shift')} every request is a block, and a single result says "
                "nothing: it has nothing to be compared with. Ask for a whole plate, such as "
                f"{advise('ask for', count=24)}; a run "
                "needs batch=24, say."
            )

    def room(self, batch: int, under_way: int) -> int:
        """A whole block, once the last one is back."""
        return 0 if under_way else batch

    @property
    def announcement(self) -> str:
        """What they share."""
        return "results of one request share an unknown shift: only differences within it count"

    @property
    def assumption(self) -> str:
        """That nothing else differs, and that no block was cut by its values."""
        return (
            "shifts are shared by all results of a block, and how many results a block has and which of "
            "them fail depends on no values"
        )

    @property
    def short(self) -> str:
        """That nothing else is shared, and that no block was cut by its values."""
        return (
            "results independent but for a shift that each block shares, sizes and failures of blocks "
            "that depend on no values"
        )

    @property
    def explanation(self) -> str:
        """What a result is, and what must not depend on values."""
        return (
            "A result is the arm's mean, plus a shift that all results of its block share, plus fresh "
            "noise of mean zero: σ is the noise within a block. Nothing is assumed of the shifts, "
            "which cancel, as long as they do not depend on the arm. Not covered are effects of the "
            "position on a plate and drifts within a block. How many results a block has, which of "
            "them failed and in which order they were told must not depend on any values."
        )


def _counted(block: Any, end: int) -> int:
    """The number of a block, which may come as text, if it is below ``end``.

    Examples
    --------
    >>> _counted("7", 500)
    7
    >>> _counted(None, 500)
    Traceback (most recent call last):
        ...
    shortlist.errors.InvalidInput: a result of a study with blocks needs its block: give block=…; nothing was told.
    """
    if block is None or block == "":
        raise InvalidInput(
            "a result of a study with blocks needs its block: "
            f"{advise('give block')}; nothing was told."
        )
    number = block
    if isinstance(block, str) and DIGITS.fullmatch(block):
        number = int(block.partition(".")[0])
    counted = isinstance(number, numbers.Integral) and not isinstance(number, bool)
    if not counted or not 0 <= int(number) < end:
        raise InvalidInput(
            f"block must be a whole number from 0 to {end - 1:,}, got {block!r}: nothing was told."
        )
    return int(number)
