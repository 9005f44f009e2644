"""Programs that some tests need."""

from __future__ import annotations

import os

import pytest


def missing(what: str) -> None:
    """Skip a test where a program is not installed, but never in CI."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not installed: .ci/run should have done it")
    pytest.skip(f"{what} is not installed")
