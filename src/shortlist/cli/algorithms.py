"""``shortlist algorithms``."""

from __future__ import annotations

from shortlist.cli.layout import say


def algorithms() -> None:
    """List the algorithms, with a line on each."""
    from shortlist.catalog.names import algorithms as catalog
    from shortlist.plans.halving import NAME, SUMMARY
    from shortlist.plans.mislid.algorithm import MisLid

    known = catalog()
    published = [name for name in known if name.endswith("(as published)")]
    plain = [name for name in known if name not in published]
    width = max(map(len, plain))
    for name in plain:
        say(f"{name:{width}}  {known[name]}")
    say("\nTo be told c, by misspecification in a screen.toml, and named by nothing else:")
    say(f"{MisLid.__name__:{width}}  {MisLid.summary}")
    say(f"\nWith a fixed budget in place of a guarantee (budget = …):\n{NAME}  {SUMMARY}")
    say("\nWith the settings of the authors' published runs, to reproduce those:")
    for name in published:
        say(name)
