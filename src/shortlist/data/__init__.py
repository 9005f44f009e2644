"""The paper's public data set: from a mirror, from the cache, or downloaded and checked."""

from __future__ import annotations

from shortlist.data.dataset import FILES, File, fetch, path
from shortlist.data.drugs import drug_instance

__all__ = ["FILES", "File", "drug_instance", "fetch", "path"]
