"""Where things are, for tests in any folder."""

import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
DOCS = ROOT / "docs"
BENCHMARKS = ROOT / "benchmarks"  # on the path of the tests, like this folder

# The files of the paper's data set, which `shortlist data fetch` brings.
DATA = os.environ.get("SHORTLIST_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="SHORTLIST_DATA does not name a folder of data")
