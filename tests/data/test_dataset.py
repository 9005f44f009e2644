"""The data set: the mirror, the cache, the network (a server of our own), and the drug instance."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import shortlist.data
from paths import needs_data
from shortlist.data import dataset
from shortlist.errors import DataUnavailable, UnknownName

TINY = b"gene,drug\nGABRA1,0.25\n" * 4000  # several chunks of a download

NET = b"GABRA1\tGABRB2\tpositive;\n"


class Network(http.server.ThreadingHTTPServer):
    """Stands in for the network; ``fault`` says what goes wrong with it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.fault = ""
        self.sent = 0
        self.asked: list[str] = []
        self.under_way = threading.Event()
        self.let_go = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/DR_Data/"


class Page(http.server.BaseHTTPRequestHandler):
    server: Network

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        body = {"/DR_Data/tiny.csv": TINY, "/DR_Data/GRN/tiny.net": NET}.get(self.path)
        if body is None or self.server.fault == "gone":
            self.send_error(404)
            return
        if self.server.fault == "endless":
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):  # whoever asked has gone
                for _ in range(1000):
                    self.wfile.write(bytes(100_000))
                    self.server.sent += 100_000
            return
        if self.server.fault == "corrupt":
            body = body.replace(b"GABRA1", b"GABRA2")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.fault in {"cut", "stall"}:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.server.under_way.set()
            if self.server.fault == "stall":
                self.server.let_go.wait(20)
            return
        self.wfile.write(body)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    server = Network()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(dataset, "BASE_URL", server.url)
    yield server
    server.let_go.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two small files added to the table, and a cache that is not there yet."""
    for source, body in {"tiny.csv": TINY, "GRN/tiny.net": NET}.items():
        file = dataset.File(source, len(body), hashlib.sha256(body).hexdigest(), "for tests")
        monkeypatch.setitem(dataset.FILES, source.removeprefix("GRN/"), file)
    monkeypatch.delenv("SHORTLIST_DATA", raising=False)
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "linear-top-m"


def kept(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_the_table_names_thirteen_files_of_one_commit() -> None:
    assert len(dataset.FILES) == 13
    assert dataset.COMMIT in dataset.BASE_URL
    for name, file in dataset.FILES.items():
        assert Path(file.source).name == name
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
    inside = [name for name, file in dataset.FILES.items() if file.source.startswith("GRN/")]
    assert inside == ["model1.net", "observations1.spec", "report_model1_solution.net"]


def test_the_cache_is_the_systems_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import pooch

    monkeypatch.delenv("SHORTLIST_CACHE", raising=False)
    assert dataset.cache().parent == Path(pooch.os_cache("shortlist"))


def test_a_download_is_checked_kept_and_quiet(
    network: Network, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pooch

    announced: list[object] = []
    monkeypatch.setattr(pooch.get_logger(), "handle", announced.append)
    seen = []
    paths = shortlist.data.fetch(["tiny.csv", "tiny.net"], progress=lambda *a: seen.append(a))
    assert [p.read_bytes() for p in paths] == [TINY, NET]
    assert seen == [("tiny.csv", paths[0]), ("tiny.net", paths[1])]
    assert kept(cache) == ["GRN/tiny.net", "tiny.csv"]
    assert network.asked == ["/DR_Data/tiny.csv", "/DR_Data/GRN/tiny.net"]
    shortlist.data.fetch(["tiny.csv", "tiny.net"])
    assert len(network.asked) == 2
    assert announced == []  # Pooch would announce every file


def test_the_url_is_the_repositorys() -> None:
    assert dataset.BASE_URL + dataset.FILES["model1.net"].source == (
        "https://raw.githubusercontent.com/clreda/linear-top-m/"
        "42f3eb327c8e4adcdc3f2a743f4d9971b7149324/DR_Data/GRN/model1.net"
    )


def test_a_damaged_copy_is_fetched_again(network: Network, cache: Path) -> None:
    place = shortlist.data.path("tiny.csv")
    place.write_bytes(TINY[:-1])
    assert dataset.state("tiny.csv") == "damaged"
    assert shortlist.data.path("tiny.csv").read_bytes() == TINY
    assert dataset.state("tiny.csv") == "here"
    assert len(network.asked) == 2


def test_a_corrupt_download_is_refused(network: Network, cache: Path) -> None:
    network.fault = "corrupt"
    with pytest.raises(DataUnavailable, match=r"SHA-256 differs.*thrown away"):
        shortlist.data.path("tiny.csv")
    assert kept(cache) == []
    assert dataset.state("tiny.csv") == "missing"


def test_a_download_without_end_is_ended(network: Network, cache: Path) -> None:
    network.fault = "endless"
    with pytest.raises(DataUnavailable, match="not the published file"):
        shortlist.data.path("tiny.csv")
    assert network.sent < 20_000_000  # of 100; what the system holds for both is some
    assert kept(cache) == []


def test_a_corrupt_download_does_not_replace_what_was_there(network: Network, cache: Path) -> None:
    shortlist.data.path("tiny.csv").write_bytes(b"older")
    network.fault = "corrupt"
    with pytest.raises(DataUnavailable):
        shortlist.data.path("tiny.csv")
    assert (cache / "tiny.csv").read_bytes() == b"older"
    assert kept(cache) == ["tiny.csv"]


def test_a_connection_cut_half_way_leaves_nothing(network: Network, cache: Path) -> None:
    network.fault = "cut"
    with pytest.raises(DataUnavailable, match=r"shortlist\.data\.fetch\(\)"):
        shortlist.data.path("tiny.csv")
    assert kept(cache) == []
    network.fault = ""
    assert shortlist.data.path("tiny.csv").read_bytes() == TINY


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_program_ended_half_way_leaves_no_half_file(
    network: Network, cache: Path, how: signal.Signals
) -> None:
    network.fault = "stall"
    code = (
        "import sys; from shortlist.data import dataset; from shortlist.cli.app import main; "
        f"dataset.BASE_URL = {network.url!r}; "
        f"dataset.FILES['tiny.csv'] = dataset.File(*{tuple(dataset.FILES['tiny.csv'])!r}); "
        "sys.argv = ['shortlist', 'data', 'fetch', 'tiny.csv']; main()"
    )
    program = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    assert network.under_way.wait(20)
    program.send_signal(how)
    _, said = program.communicate(timeout=20)
    assert not (cache / "tiny.csv").exists()
    if how == signal.SIGINT:
        assert program.returncode == 130
        assert said.strip() == "shortlist: interrupted: run it again to continue."
        assert kept(cache) == []
    else:
        assert program.returncode == -signal.SIGKILL
    network.fault = ""
    assert shortlist.data.path("tiny.csv").read_bytes() == TINY


def test_offline_with_nothing_cached_is_one_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(dataset, "BASE_URL", "http://127.0.0.1:9/DR_Data/")  # nobody listens
    with pytest.raises(DataUnavailable) as caught:
        shortlist.data.path("tiny.csv")
    said = str(caught.value)
    for word in ("not in the cache", "shortlist.data.fetch()", "SHORTLIST_DATA", str(cache)):
        assert word in said
    assert said.endswith(".")
    assert ". " not in said
    assert "\n" not in said
    (cache / "tiny.csv").write_bytes(b"half")
    with pytest.raises(DataUnavailable, match="is damaged in the cache"):
        shortlist.data.path("tiny.csv")


def test_a_file_that_the_server_does_not_have(network: Network, cache: Path) -> None:
    network.fault = "gone"
    with pytest.raises(DataUnavailable, match="the server answered 404"):
        shortlist.data.path("tiny.csv")


def test_offline_with_all_cached_needs_no_network(
    network: Network, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortlist.data.path("tiny.csv")
    monkeypatch.setattr(dataset, "BASE_URL", "http://127.0.0.1:9/DR_Data/")
    assert shortlist.data.path("tiny.csv").read_bytes() == TINY


def test_a_cache_that_cannot_be_written_to(
    network: Network, cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("SHORTLIST_CACHE", str(tmp_path / "a file"))
    with pytest.raises(DataUnavailable, match="set SHORTLIST_CACHE to a folder"):
        shortlist.data.path("tiny.csv")


@pytest.fixture
def mirror(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    monkeypatch.setenv("SHORTLIST_DATA", str(folder))
    return folder


@pytest.mark.parametrize("source", ["tiny.net", "GRN/tiny.net"])
def test_a_mirror_is_used_and_no_network_touched(
    network: Network, cache: Path, mirror: Path, source: str
) -> None:
    (mirror / source).parent.mkdir(exist_ok=True)
    (mirror / source).write_bytes(NET)
    assert shortlist.data.path("tiny.net") == mirror / source
    assert network.asked == []
    assert not cache.exists()


def test_a_mirror_without_the_file(network: Network, mirror: Path) -> None:
    with pytest.raises(DataUnavailable) as caught:
        shortlist.data.path("tiny.net")
    for word in ("tiny.net", str(mirror), "GRN/tiny.net", "copy it there", "unset SHORTLIST_DATA"):
        assert word in str(caught.value)
    assert network.asked == []
    assert kept(mirror) == []


def test_a_mirror_that_is_no_folder(
    network: Network, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_DATA", str(mirror / "nowhere"))
    with pytest.raises(DataUnavailable, match="nowhere"):
        shortlist.data.path("tiny.csv")


def test_a_mirror_with_a_corrupt_file_is_named_and_left_alone(
    network: Network, mirror: Path
) -> None:
    (mirror / "tiny.csv").write_bytes(b"wrong")
    with pytest.raises(DataUnavailable) as caught:
        shortlist.data.path("tiny.csv")
    for word in ("tiny.csv", str(mirror), "not the published file", "replace it"):
        assert word in str(caught.value)
    assert (mirror / "tiny.csv").read_bytes() == b"wrong"
    assert dataset.state("tiny.csv") == "damaged"
    assert network.asked == []


def test_an_empty_variable_names_no_mirror(
    network: Network, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHORTLIST_DATA", "")
    assert shortlist.data.path("tiny.csv").is_relative_to(cache)


def test_an_unknown_name_is_refused_before_anything_is_fetched(
    network: Network, cache: Path
) -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'tiny\.csv'"):
        shortlist.data.fetch(["tiny.net", "tinny.csv"])
    assert network.asked == []


def test_without_pooch_the_extra_is_named(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'shortlist\[data\]'"):
        shortlist.data.path("tiny.csv")


def test_a_mirror_needs_no_pooch(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    (mirror / "tiny.csv").write_bytes(TINY)
    assert shortlist.data.path("tiny.csv") == mirror / "tiny.csv"


@needs_data
def test_every_real_file_is_the_published_one() -> None:
    paths = shortlist.data.fetch()
    assert [p.stat().st_size for p in paths] == [file.size for file in dataset.FILES.values()]
