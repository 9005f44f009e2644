"""The arms of a study in a picture: which are shown, their names and colours, and the title."""

from __future__ import annotations

import bisect
import functools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.plot.figure import COLOURS

if TYPE_CHECKING:
    import pandas as pd

    from shortlist.problem import Problem
    from shortlist.study.insight.history import History, Look
    from shortlist.study.study import Study

ROWS_SHOWN = 30
MANY = 1000  # names: of more, only those that are shown are shortened, each picture by itself
NAME_WIDTH = 40  # letters of a name before its middle is left out; a Chinese character is two wide
NARROW_NAME, WIDE = 28, 5.0  # the same in a panel that is less wide than this, in inches
PARTS = re.compile(r"[^\W\d_]+|\d+")  # the words and numbers of a name
HEAD, TAIL = 7, 6  # letters kept at the ends of a name that differs from others in its middle
MISSING = "□"
INSIDE, CHALLENGER, OUTSIDE = COLOURS[0], COLOURS[1], "#666666"


def most_contested(look: Look) -> list[int]:
    """The boundary pair, the shortlist and the arms nearest to it; best mean first.

    An arm is the nearer to the boundary the larger the gap index that the stopping rule reads of
    it. The shortlist takes two places of three at most.
    """
    from shortlist.study.answer import best_first

    table, by_gap = look.table, look.by_gap
    inside = table["in_shortlist"].to_numpy()
    nearest = by_gap[inside[by_gap]][: 2 * ROWS_SHOWN // 3]
    outside = by_gap[~inside[by_gap]][:ROWS_SHOWN]
    ranked = [look.b, look.c, look.boundary, *nearest, *outside, *by_gap[: 2 * ROWS_SHOWN]]
    chosen = list(dict.fromkeys(int(arm) for arm in ranked))[:ROWS_SHOWN]
    return best_first(table.iloc[sorted(chosen)], look.problem).index.tolist()


def labels(look: Look, arms: Sequence[int], ax: Any) -> list[str]:
    """The names of arms, with ★ for the shortlist and their roles in the boundary pair."""
    parts = {"b": look.b, "c": look.c, "boundary": look.boundary}
    if look.boundary == look.b:
        del parts["boundary"]
    found = []
    for arm, name in zip(arms, names_of(look.problem, arms, ax), strict=True):
        star = "★ " if look.table["in_shortlist"].iloc[arm] else ""
        roles = ", ".join(word for word, who in parts.items() if who == arm)
        found.append(f"{star}{name}{f' ({roles})' if roles else ''}")
    return found


def pair_words(look: Look) -> str:
    """What b, c and the boundary are, as sentences."""
    words = "b: the arm of the shortlist whose place is least certain. c: its challenger. "
    if look.boundary != look.b:
        words += "boundary: the arm of the shortlist that the stopping rule looks at. "
    return words


def colour(look: Look, arm: int) -> str:
    """The colour of an arm: by its side of the boundary, and one for the challenger."""
    if arm == look.c:
        return CHALLENGER
    return INSIDE if look.table["in_shortlist"].iloc[arm] else OUTSIDE


def left_out(shown: int, table: pd.DataFrame) -> str:
    """How many arms are not in the picture, as a sentence; empty if all are."""
    rest = len(table) - shown
    words = f"{rest:,} of the {len(table):,} arms are left out, those farthest from the boundary. "
    return words if rest else ""


def headline(study: Study, evaluations: int) -> str:
    """The title: what is looked for, by which algorithm, and the state of the study."""
    problem = study.problem
    until = study.aim.short(problem)
    state = "still running"
    if study.done:
        stop = study.answered_at
        state = "stopped" if evaluations == stop else f"stopped after {stop:,}"
    elif study.audit.rejection is not None:
        state = "linear means with this σ were rejected"
    elif study.audit.is_running:
        state = f"stopped after {study.answered_at:,}, testing linearity"
    return (
        f"{study.bound.name}: the {problem.m} best of {problem.arms}, ε = {problem.epsilon:g}, "
        f"{until}; {evaluations:,} evaluations, {state}"
    )


def after_stop(study: Study) -> int:
    """How many results were told after the stop, without those of an audit."""
    from shortlist.study.insight.audit import audit_results

    if not study.model.stopped:
        return 0
    later = study.taken[study.answered_at :]
    return len(later) - audit_results(later)


def look_of(study: Study, history: History | None) -> Look | None:
    """What the stopping rule last read, from the history if it is given; None before a result."""
    from shortlist.study.insight.history import last_look

    if study.evaluations == 0:
        return None
    return last_look(study) if history is None else history.last


def nothing_yet(study: Study) -> str:
    """Why there is nothing to draw, as a sentence."""
    if study.evaluations == 0:
        return "Nothing to draw yet: no result has been told."
    from shortlist.study.view import before_the_rounds

    return f"Nothing to draw yet: intervals come later. {before_the_rounds(study)}"


def names_of(problem: Problem, arms: Sequence[int], ax: Any) -> list[str]:
    """The names of arms as pictures show them: the same in all, but for those drawn in little room."""
    names, spec = problem.names, ax.get_subplotspec()
    columns = 1 if spec is None else spec.get_gridspec().ncols
    room = ax.get_figure(root=True).get_figwidth() / columns
    width = NAME_WIDTH if room >= WIDE else NARROW_NAME
    if len(names) > MANY:
        return drawn([names[arm] for arm in arms], width)
    every = _drawn_once(names, width, _drawable())
    return [every[arm] for arm in arms]


@functools.lru_cache(maxsize=8)
def _drawn_once(names: tuple[str, ...], width: int, fonts: frozenset[int] | None) -> list[str]:
    """All names of a study, as these fonts draw them."""
    return drawn(names, width)


def drawn(names: Sequence[str], width: int = NAME_WIDTH) -> list[str]:
    r"""Names on one line each, shortened if they are long, so that different ones stay different.

    The middle of a long name is left out. Names that would then look the same keep the words and
    numbers in which they differ. A character that the font lacks is drawn as a box, unless text stays text
    (``svg.fonttype``): then the reader's font shows it.

    Examples
    --------
    >>> drawn(["a name\nof two lines", "N-acetyl-5-methoxytryptamine, batch 17 of May"])
    ['a name of two lines', 'N-acetyl-5-methoxytr…ne, batch 17 of May']
    >>> drawn([f"N-(pyridin-{k}-yl)-2-(morpholin-4-yl)-N-methylacetamide" for k in (3, 4)])
    ['N-(pyridin-3-yl)-2-(morph…ethylacetamide', 'N-(pyridin-4-yl)-2-(morph…ethylacetamide']
    >>> len(drawn([28 * "酸"])[0])
    20
    """
    lines = [" ".join(name.split()) for name in names]
    known = _drawable()
    found = [
        "".join(
            each if each.isprintable() and (known is None or ord(each) in known) else MISSING
            for each in line
        )
        for line in _shortened(lines, width)
    ]
    seen, times = Counter(found), Counter[str]()
    for k, name in enumerate(found):
        if seen[name] > 1:  # nothing that can be drawn tells them apart
            times[name] += 1
            found[k] = f"{name} #{times[name]}"
    return found


def _shortened(lines: Sequence[str], width: int) -> list[str]:
    """The lines without their middles; those with the same ends with what differs."""
    found = _by_position(lines, width)
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for k, line in enumerate(lines):
        if found[k] != line:
            alike[line[:HEAD], line[-TAIL:]].append(k)
    for places in alike.values():
        if len(places) == 1:
            continue
        telling = _with_what_differs([lines[k] for k in places], width)
        chosen = [new or found[k] for k, new in zip(places, telling, strict=True)]
        if len(set(chosen)) == len({lines[k] for k in places}):
            for k, short in zip(places, chosen, strict=True):
                found[k] = short
    return found


def _by_position(lines: Sequence[str], width: int) -> list[str]:
    """The lines without their middles; those that would look the same from where they differ."""
    found = [_without_middle(line, width) for line in lines]
    alike: dict[str, list[int]] = defaultdict(list)
    for k, short in enumerate(found):
        alike[short].append(k)
    room = width - HEAD - TAIL - 2
    for places in alike.values():
        if len(places) == 1 or room < HEAD:
            continue
        group = [lines[k] for k in places]
        start = _shared(group)
        end = min(_shared([line[::-1] for line in group]), min(map(len, group)) - start)
        middles = [line[start : len(line) - end] for line in group]
        if max(map(_width, middles)) <= room:  # what follows helps to read it
            middles = [_start(line[start:], room) for line in group]
        else:
            middles = _by_position(middles, room)
        for k, line, middle in zip(places, group, middles, strict=True):
            head = f"{_start(line, HEAD)}…" if start > HEAD else line[:start]
            found[k] = f"{head}{middle}…{_start(line[::-1], TAIL)[::-1]}"
    return found


def _with_what_differs(lines: Sequence[str], width: int) -> list[str]:
    """Each line with the words and numbers that not all have, its ends, and what is around these.

    A number is one with the word before it: 3 after pyridin is another than 3 after piperidin. A
    line for which that is too much is empty.
    """
    parts = [list(PARTS.finditer(line)) for line in lines]
    keys = []
    for found in parts:
        word, seen, own = "", Counter[str](), []
        for part in found:
            is_word = part[0].isalpha()
            text = part[0] if is_word else f"{word} {part[0]}"
            word = part[0] if is_word else word
            seen[text] += 1
            own.append((text, seen[text]))
        keys.append(own)
    shared = Counter(key for own in keys for key in own)
    shortened = []
    for line, found, own in zip(lines, parts, keys, strict=True):
        away = np.minimum(np.arange(len(line)), np.arange(len(line))[::-1])  # from what is kept
        for part, key in zip(found, own, strict=True):
            if shared[key] < len(lines):
                ends = np.arange(len(line)) - part.start(), part.end() - 1 - np.arange(len(line))
                away = np.minimum(away, np.maximum(0, np.maximum(-ends[0], -ends[1])))
        # The further one looks around what differs, the longer it is.
        reach = bisect.bisect(range(width), width, key=lambda k: _width(_kept(line, away <= k)))
        shortened.append(_kept(line, away < reach) if reach else "")
    return shortened


def _kept(line: str, kept: np.ndarray) -> str:
    """The characters that are kept, with … for each gap of more than one."""
    runs = re.finditer("1+|0+", "".join("01"[int(each)] for each in kept))
    return "".join(
        line[run.start() : run.end()] if run[0][0] == "1" or len(run[0]) == 1 else "…"
        for run in runs
    )


def _shared(lines: Sequence[str]) -> int:
    """How many characters the lines have in common at their start."""
    pairs = zip(min(lines), max(lines), strict=False)
    return next((k for k, (one, other) in enumerate(pairs) if one != other), len(min(lines)))


def _without_middle(line: str, width: int) -> str:
    if _width(line) <= width:
        return line
    tail = (width - 1) // 2
    return f"{_start(line, width - 1 - tail)}…{_start(line[::-1], tail)[::-1]}"


def _width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


def _start(line: str, width: int) -> str:
    """The start of a line that is at most so wide."""
    line = line[:width]
    while _width(line) > width:
        line = line[:-1]
    return line


def _drawable() -> frozenset[int] | None:
    """The characters that the fonts in use can draw; None if text stays text."""
    import matplotlib as mpl
    from matplotlib.font_manager import FontProperties, findfont

    if mpl.rcParams["svg.fonttype"] == "none":
        return None
    families = mpl.rcParams["font.family"]
    return _characters_of(tuple(findfont(FontProperties(family=[name])) for name in families))


@functools.cache
def _characters_of(fonts: tuple[str, ...]) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    return frozenset().union(*(get_font(font).get_charmap() for font in fonts))
