"""Who waits for a compilation is told; who loads what was compiled before is not."""

from __future__ import annotations

import time

import numba
import pytest

from shortlist.core.notice import compiling


def test_loading_for_long_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling("compiling something", after=0.0):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""


def test_compiling_says_so_once(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling("compiling something", after=0.0):
        for number in (1, 1.0):
            numba.njit(lambda x: x + 1)(number)
        time.sleep(0.2)
    assert capsys.readouterr().err == "shortlist: compiling something\n"


def test_a_short_compilation_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with compiling("compiling something", after=60.0):
        numba.njit(lambda x: x + 2)(1)
    assert capsys.readouterr().err == ""
