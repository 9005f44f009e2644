"""Where a file of the data set is: in the user's mirror, in the cache, or still on the network."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shortlist.data.files import BASE_URL, FILES, File
from shortlist.errors import DataUnavailable, unknown_name
from shortlist.files.paths import from_home

MIRROR = "SHORTLIST_DATA"
CACHE = "SHORTLIST_CACHE"
PIECE = 1 << 16  # bytes of a download at a time
PATIENCE = (10.0, 30.0)  # seconds to connect, seconds without a byte


def path(name: str) -> Path:
    """A file of the data set, checked against its SHA-256.

    It is read from the folder that the environment variable ``SHORTLIST_DATA`` names, if that is
    set; nothing is downloaded then, and nothing is written there. Otherwise it is taken from the
    cache (``SHORTLIST_CACHE``, or the system's folder for caches), and downloaded into it if it is
    missing or damaged.

    Parameters
    ----------
    name : str
        One of ``FILES``.

    Returns
    -------
    Path

    Examples
    --------
    >>> path("epilepsy_score.csv")
    Traceback (most recent call last):
        ...
    shortlist.errors.UnknownName: unknown file 'epilepsy_score.csv': did you mean 'epilepsy_scores.csv'? Known: ...
    """
    if name not in FILES:
        raise unknown_name("file", name, FILES)
    folder = mirror()
    return _cached(FILES[name]) if folder is None else _mirrored(name, folder)


def fetch(
    names: Iterable[str] | None = None, *, progress: Callable[[str, Path], None] | None = None
) -> list[Path]:
    """Several files of the data set, by default all.

    Parameters
    ----------
    names : iterable of str, optional
        Some of ``FILES``.
    progress : function, optional
        Called with a file's name and path as soon as it is there.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> fetch([])
    []
    """
    wanted = list(FILES if names is None else names)
    for name in wanted:
        if name not in FILES:  # before the first download, not after the twelfth
            raise unknown_name("file", name, FILES)
    paths = []
    for name in wanted:
        paths.append(path(name))
        if progress is not None:
            progress(name, paths[-1])
    return paths


def mirror() -> Path | None:
    """The folder that ``SHORTLIST_DATA`` names, if any."""
    named = os.environ.get(MIRROR)
    return from_home(named, DataUnavailable) if named else None


def cache() -> Path:
    """The folder that downloads are kept in, laid out like the repository's ``DR_Data/``."""
    named = os.environ.get(CACHE)
    root = from_home(named, DataUnavailable) if named else Path(_pooch().os_cache("shortlist"))
    return root / "linear-top-m"


def state(name: str) -> str:
    """Whether a file is ``here``, ``missing`` or ``damaged``; nothing is downloaded."""
    folder = mirror()
    place = cache() / FILES[name].source if folder is None else _place(name, folder)
    if not place.is_file():
        return "missing"
    return "here" if _checksum(place) == FILES[name].sha256 else "damaged"


def _place(name: str, folder: Path) -> Path:
    """A mirror may be flat or laid out like the repository."""
    flat = folder / name
    return flat if flat.is_file() else folder / FILES[name].source


def _mirrored(name: str, folder: Path) -> Path:
    # A mirror is the user's: it is read, and never repaired.
    which = f"{folder} (the folder that {MIRROR} names)"
    otherwise = f"or unset {MIRROR} to have it downloaded."
    try:
        place = _place(name, folder)
        if not place.is_file():
            names = dict.fromkeys([name, FILES[name].source])
            raise DataUnavailable(
                f"{name} is not in {which}: copy it there as {' or '.join(names)}, {otherwise}"
            )
        came = _checksum(place)
    except OSError as error:
        raise DataUnavailable(
            f"{name} in {which} cannot be read ({error.strerror}): make it readable, {otherwise}"
        ) from None
    if came != FILES[name].sha256:
        raise DataUnavailable(
            f"{name} in {which} is not the published file (its SHA-256 begins with {came[:8]}, not "
            f"with {FILES[name].sha256[:8]}): replace it by a fresh copy, {otherwise}"
        )
    return place


def _cached(file: File) -> Path:
    pooch, folder = _pooch(), cache()
    import requests

    # Pooch checks the copy that is there, downloads to a temporary file beside it if it must,
    # checks that, and only then renames it.
    keeper = pooch.Pooch(folder, BASE_URL, registry={file.source: file.sha256})
    was_there = (folder / file.source).exists()
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")  # it would announce every file
    try:
        (folder / file.source).parent.mkdir(parents=True, exist_ok=True)
        return Path(keeper.fetch(file.source, downloader=_download(file)))
    except requests.RequestException as error:
        found = "is damaged in" if was_there else "is not in"
        raise DataUnavailable(
            f"{file.source} {found} the cache ({folder}) and cannot be downloaded "
            f"({_reason(error)}): connect to the network once and run `shortlist data fetch`, or "
            f"set {MIRROR} to a folder that holds the files of DR_Data (github.com/clreda/"
            "linear-top-m)."
        ) from None
    except ValueError:  # too long, or what Pooch raises when the checksum is wrong
        raise DataUnavailable(
            f"what {urlsplit(BASE_URL).netloc} sent as {file.source} is not the published file "
            "(its size or its SHA-256 differs) and was thrown away: run `shortlist data fetch` again, later or "
            f"from another network, or set {MIRROR} to a folder that holds the files."
        ) from None
    except OSError as error:
        raise DataUnavailable(
            f"the cache ({folder}) cannot be used ({error.strerror or error}): set {CACHE} to a "
            "folder that can be written to."
        ) from None
    finally:
        logger.setLevel(level)


def _download(file: File) -> Callable[[str, Any, Any], None]:
    """What Pooch downloads with: it stops where the file should end."""
    import requests

    def download(url: str, output_file: Any, _: Any) -> None:
        with requests.get(url, stream=True, timeout=PATIENCE) as response:
            response.raise_for_status()
            left = file.size
            with open(output_file, "wb") as out:
                for piece in response.iter_content(PIECE):
                    left -= len(piece)
                    if left < 0:
                        raise ValueError(f"more than {file.size} bytes came")
                    out.write(piece)

    return download


def _reason(error: Any) -> str:
    if error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    return f"no connection to {urlsplit(BASE_URL).netloc}"


def _checksum(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pooch() -> Any:
    try:
        import pooch  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            f"downloading data needs pooch: pip install 'shortlist[paper]', or set {MIRROR} to a "
            "folder that holds the files."
        ) from None
    return pooch
