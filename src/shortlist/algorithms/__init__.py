"""The algorithms, one module a family. Calling the module lists them all."""

from __future__ import annotations

import sys
from types import ModuleType


class _Catalog(ModuleType):
    # `shortlist.algorithms` is both this package and the function that lists its contents.
    def __call__(self) -> dict[str, str]:
        from shortlist.algorithms.catalog import algorithms

        return algorithms()


sys.modules[__name__].__class__ = _Catalog
