"""The files of the paper's data set: their checksums, and where they are.

A file is in the user's mirror, in the cache, or still on the network.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from shortlist.advice import advise
from shortlist.errors import DataUnavailable, unknown_name
from shortlist.files.paths import from_home

# github.com/clreda/linear-top-m (MIT). A commit does not move, so the checksums stay right.
COMMIT = "42f3eb327c8e4adcdc3f2a743f4d9971b7149324"
BASE_URL = f"https://raw.githubusercontent.com/clreda/linear-top-m/{COMMIT}/DR_Data/"
MIRROR = "SHORTLIST_DATA"
CACHE = "SHORTLIST_CACHE"
PIECE = 1 << 16  # bytes of a download at a time
PATIENCE = (10.0, 30.0)  # seconds to connect, seconds without a byte


class File(NamedTuple):
    """A file of the data set.

    Attributes
    ----------
    source : str
        Its path in the repository's ``DR_Data/``.
    size : int
        In bytes.
    sha256 : str
        Its checksum.
    about : str
        What is in it.
    """

    source: str
    size: int
    sha256: str
    about: str


# fmt: off
_FILES = (
    File("epilepsy_scores.csv", 10_165,
         "ccc53a8a50d6669154e35d350100137fefa657f114c69c94d32cf1bd1cf7d5ad",
         "509 drugs: id, name, antiepileptic (1), proconvulsant (-1), unknown (0)"),
    File("epilepsy_signatures.csv", 749_481,
         "dbf54331e48912115746f534ff9522b58306067cabb78e3cc14f467ec43818fa",
         "71 genes × 509 drugs: the features of Figure 1c"),
    File("epilepsy_signatures_binarized.csv", 94_620,
         "a12abe9207b7e51a9fab1d947d9f8eb9b09e33551bb8da762b3b9ace1ee0841a",
         "67 genes × 512 drugs, as 0, 1 or missing"),
    File("epilepsy_signatures_nonbinarized.csv", 706_464,
         "ebe3b01abca543e1a43ca52d4395a4b491ce8b9663424510eb8c3d1196ee100e",
         "67 genes × 509 drugs, as numbers"),
    File("epilepsy_phenotype.csv", 59_230,
         "5eb03d2c33baf237791de85c6ebc42edbb80e7e60acce9a037db11c4473ec211",
         "the disease: 6,940 genes as 0 or 1"),
    File("epilepsy_phenotype_nonbinarized.csv", 47_931,
         "33f34721eb994fedb5bc1d852908f8533320db76d878a2c11becf7933c331ca0",
         "the disease: 1,733 genes as numbers"),
    File("GSE77578_patients.csv", 2_456_917,
         "73c23b19bf73c22756ad2afc077e71eb07dd3f482bc0980406e50b42fa10ae27",
         "expression of 7,902 genes in 18 patient samples"),
    File("GSE77578_controls.csv", 2_322_549,
         "31a971f4391e1859dbd9602d432f7ab0b278f9471a52a19d377e385cc9c2c1a0",
         "expression of 7,902 genes in 17 control samples"),
    File("rewards_cosine_10drugs_18samples.csv", 3_470,
         "04d9a6ff1c32e886fdff4ca4a3adef6ec7de63cc409e24871a6ee777101989c5",
         "the rewards of Figure 1c: 18 samples × 10 drugs"),
    File("rewards_cosine_10drugs_18samples.txt", 119_373,
         "9053bda6789afacc8bd27678e6ad70f28187f36f887953f22e5cd54bdfa3149c",
         "the log of how these rewards were computed"),
    File("GRN/model1.net", 10_795,
         "4f7567031b3a310e526a00485f4380e3528debc78de1e0ab04e614701ceae1b3",
         "the gene network before inference"),
    File("GRN/observations1.spec", 8_174,
         "4963dce56245a763d59847b6f4b2e8c163d9344a1681034fe03c0f8181ecc944",
         "the experiments that the network must explain"),
    File("GRN/report_model1_solution.net", 3_504,
         "669ff9e1d20ee01197df1d705edcc28143e00ed2350ee60b1590bd8dea1d40f7",
         "the gene network after inference"),
)
# fmt: on
FILES: dict[str, File] = {file.source.rpartition("/")[2]: file for file in _FILES}


def path(name: str) -> Path:
    """The path of a file of the data set, checked against its SHA-256.

    It is read from the folder that the environment variable ``SHORTLIST_DATA`` names, if that is
    set; nothing is downloaded then, and nothing is written there. Otherwise it is taken from the
    cache (``SHORTLIST_CACHE``, or the system's folder for caches), and downloaded into it if it is
    missing or damaged.

    Parameters
    ----------
    name : str
        One of ``FILES``.

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
    """The paths of several files of the data set, by default of all.

    Parameters
    ----------
    names : iterable of str, optional
        Some of ``FILES``.
    progress : function, optional
        Called with a file's name and path as soon as it is there.

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
    """``here``, ``missing`` or ``damaged``; nothing is downloaded."""
    folder = mirror()
    place = cache() / FILES[name].source if folder is None else _place(name, folder)
    if not place.is_file():
        return "missing"
    return "here" if _checksum(place) == FILES[name].sha256 else "damaged"


def _place(name: str, folder: Path) -> Path:
    """The path of a file in a mirror, which may be flat or laid out like the repository."""
    flat = folder / name
    return flat if flat.is_file() else folder / FILES[name].source


def _mirrored(name: str, folder: Path) -> Path:
    # A mirror is the user's: it is read but never repaired.
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
        return Path(keeper.fetch(file.source, downloader=partial(_download, file.size)))
    except requests.RequestException as error:
        state = "is damaged in" if was_there else "is not in"
        reason = f"no connection to {urlsplit(BASE_URL).netloc}"
        if error.response is not None:
            answer = f"{error.response.status_code} {error.response.reason}"
            reason = f"the server answered {answer}"
        raise DataUnavailable(
            f"{file.source} {state} the cache ({folder}) and cannot be downloaded "
            f"({reason}): connect to the network once and {_fetching()}, or "
            f"set {MIRROR} to a folder that contains the files of DR_Data (github.com/clreda/"
            "linear-top-m)."
        ) from None
    except ValueError:  # too long, or what Pooch raises when the checksum is wrong
        raise DataUnavailable(
            f"what {urlsplit(BASE_URL).netloc} sent as {file.source} is not the published file "
            f"(its size or its SHA-256 differs) and was thrown away: {_fetching()} again, "
            f"later or from another network, or set {MIRROR} to a folder that contains the files."
        ) from None
    except OSError as error:
        raise DataUnavailable(
            f"the cache ({folder}) cannot be used ({error.strerror or error}): set {CACHE} to a "
            "folder that can be written to."
        ) from None
    finally:
        logger.setLevel(level)


def _fetching() -> str:
    return advise("fetch")


def _download(size: int, url: str, output_file: Any, _: Any) -> None:
    """What Pooch downloads a file of this size with: it stops where the file should end."""
    import requests

    with requests.get(url, stream=True, timeout=PATIENCE) as response:
        response.raise_for_status()
        left = size
        with open(output_file, "wb") as out:
            for piece in response.iter_content(PIECE):
                left -= len(piece)
                if left < 0:
                    raise ValueError(f"more than {size} bytes came")
                out.write(piece)


def _checksum(place: Path) -> str:
    with place.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pooch() -> Any:
    try:
        import pooch  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError(
            f"downloading data needs pooch: pip install 'shortlist[data]', or set {MIRROR} to a "
            "folder that contains the files."
        ) from None
    return pooch
