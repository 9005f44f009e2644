"""``shortlist algorithms``."""

from __future__ import annotations

import typer


def algorithms() -> None:
    """List the algorithms, with a line on each."""
    from shortlist.algorithms.catalog import algorithms as catalog
    from shortlist.algorithms.mislid import MisLid

    known = catalog()
    published = [name for name in known if name.endswith("(as published)")]
    plain = [name for name in known if name not in published]
    width = max(map(len, plain))
    for name in plain:
        typer.echo(f"{name:{width}}  {known[name]}")
    typer.echo("\nTo be told c, by misspecification in a screen.toml, and named by nothing else:")
    typer.echo(f"{MisLid.__name__:{width}}  {MisLid.summary}")
    typer.echo("\nWith the settings of the authors' published runs, to reproduce those:")
    for name in published:
        typer.echo(name)
