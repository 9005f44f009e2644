"""Words of other libraries point to what takes their place."""

from __future__ import annotations

import pytest

import shortlist
from shortlist.errors import UnknownName
from shortlist.study.familiar_words import ATTRIBUTES, RUN, SETTINGS, settings_of


def study() -> shortlist.Study:
    return shortlist.Study(arms=["a", "b"], sigma=1.0, seed=0)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_others(name: str) -> None:
    with pytest.raises(UnknownName, match=f"Study has no setting '{name}': ") as error:
        shortlist.Study(arms=["a", "b"], sigma=1.0, **{name: 1})  # type: ignore[arg-type]
    assert SETTINGS[name] in str(error.value)
    assert name not in settings_of(shortlist.Study.__init__)


@pytest.mark.parametrize("name", RUN)
def test_arguments_of_run(name: str) -> None:
    with pytest.raises(UnknownName, match=f"run has no setting '{name}': "):
        study().run(lambda trial: 0.0, **{name: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_others(name: str) -> None:
    with pytest.raises(AttributeError, match=f"a study has no '{name}': .*study"):
        getattr(study(), name)


def test_a_slip_of_the_pen_is_met_by_the_nearest_name() -> None:
    with pytest.raises(UnknownName, match="did you mean 'epsilon'"):
        shortlist.Study(arms=["a", "b"], sigma=1.0, epsilom=0.1)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        study().nonsense  # type: ignore[attr-defined]  # noqa: B018
