"""The public names of ``shortlist.repurposing``."""

from __future__ import annotations

import pytest

from shortlist.repurposing.expression.profiles import mask


def test_the_room_s_names_are_there() -> None:
    from shortlist import repurposing

    for name in dir(repurposing):
        assert callable(getattr(repurposing, name))
    assert repurposing.mask is mask
    with pytest.raises(AttributeError, match="nonsense"):
        repurposing.nonsense  # noqa: B018
