"""Downloads from a server of the test's own."""

import hashlib
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from scaling.datasets import fetching
from scaling.datasets.data_set import DataFile
from scaling.datasets.fetching import cache_folder, locate, where_it_is

CONTENT = b"model,top1\na,50\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
WRONG = "0" * 64


class Handler(BaseHTTPRequestHandler):
    def __init__(self, asked, *args):
        self.asked = asked
        super().__init__(*args)

    def do_GET(self):
        self.asked.append(self.path)
        if self.path == "/none.csv":
            return self.send_error(404)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        # Of "half" the connection ends in the middle.
        return self.wfile.write(CONTENT[:8000] if self.path == "/half.csv" else CONTENT)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The address of a server, and the list of what it was asked for; the cache is a folder of the test's."""
    monkeypatch.setenv("SCALING_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SCALING_DATA_DIR", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    asked = []
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, asked))
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", asked
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_file_is_fetched_once(server):
    address, asked = server
    file = DataFile("few/good.csv", f"{address}/good.csv", SHA256)
    assert where_it_is(file) is None
    path = locate(file)
    assert path == cache_folder() / "few" / "good.csv" == where_it_is(file)
    assert path.read_bytes() == CONTENT
    assert locate(file) == path
    assert asked == ["/good.csv"]


def test_one_line_says_that_a_file_is_fetched_and_none_that_it_is_here(server, capsys):
    address, _ = server
    file = DataFile("few/good.csv", f"{address}/good.csv", SHA256)
    path = locate(file)
    assert capsys.readouterr() == ("", f"fetching {address}/good.csv to {path}\n")
    path.parent.chmod(0o500)
    assert locate(file) == path
    assert capsys.readouterr() == ("", "")


def test_a_damaged_file_of_the_cache_is_fetched_again(server):
    address, asked = server
    file = DataFile("good.csv", f"{address}/good.csv", SHA256)
    locate(file).write_bytes(b"half")
    assert locate(file).read_bytes() == CONTENT
    assert len(asked) == 2


def test_a_file_of_another_digest_is_not_kept(server):
    address, _ = server
    file = DataFile("good.csv", f"{address}/good.csv", WRONG)
    with pytest.raises(ValueError, match=f"cannot fetch good.csv from {address}/good.csv .*{WRONG}.*{SHA256}.*by hand"):
        locate(file)
    assert list(cache_folder().iterdir()) == []


@pytest.mark.parametrize("digest", [SHA256, None])
def test_half_a_file_is_not_kept(server, digest):
    address, _ = server
    with pytest.raises(OSError, match=r"cannot fetch half.csv .*by hand"):
        locate(DataFile("half.csv", f"{address}/half.csv", digest))
    assert list(cache_folder().iterdir()) == []


def test_no_such_address_is_one_line_that_says_what_to_do(server):
    address, _ = server
    with pytest.raises(OSError, match=r"\(HTTP status 404\)") as error:
        locate(DataFile("few/none.csv", f"{address}/none.csv", SHA256))
    text = str(error.value)
    assert "\n" not in text
    for part in (f"{address}/none.csv", str(cache_folder() / "few/none.csv"), "SCALING_DATA_DIR", "few/none.csv"):
        assert part in text


def test_a_dead_server_is_one_line(server):
    file = DataFile("good.csv", "http://127.0.0.1:9/good.csv", SHA256)  # the port of discard, where nobody listens
    with pytest.raises(OSError, match=r"cannot fetch good.csv .*\(no connection\): put it at") as error:
        locate(file)
    assert "\n" not in str(error.value)


def test_a_silent_server_is_not_waited_for_for_ever(server, monkeypatch):
    import socket

    monkeypatch.setattr(fetching, "_TIMEOUT_SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/good.csv"
        with pytest.raises(OSError, match=r"no answer in 0.05 seconds"):
            locate(DataFile("good.csv", url, SHA256))


def test_what_cannot_be_checked_is_warned_of_when_it_is_fetched(server):
    address, asked = server
    file = DataFile("good.csv", f"{address}/good.csv")
    with pytest.warns(UserWarning, match="no digest to check it by"):
        path = locate(file)
    assert locate(file) == path
    assert len(asked) == 1


def test_the_users_folder_comes_first_and_is_checked(server, tmp_path, monkeypatch):
    address, asked = server
    file = DataFile("few/good.csv", f"{address}/good.csv", SHA256)
    own = tmp_path / "own" / "few" / "good.csv"
    own.parent.mkdir(parents=True)
    own.write_bytes(CONTENT)
    assert locate(file, tmp_path / "own") == own
    monkeypatch.setenv("SCALING_DATA_DIR", str(tmp_path / "own"))
    assert locate(file) == own == where_it_is(file)
    own.write_bytes(b"edited")
    digest = hashlib.sha256(b"edited").hexdigest()
    with pytest.raises(ValueError, match=f"{own} is not the file .*{digest}, not {SHA256}"):
        locate(file)
    assert asked == []


def test_a_reduced_file_may_stand_for_the_whole_in_the_users_folder(server, tmp_path):
    address, _ = server
    reduced = DataFile("few/less.csv", sha256=hashlib.sha256(b"less").hexdigest())
    file = DataFile("few/good.csv", f"{address}/good.csv", SHA256, reduced)
    (tmp_path / "few").mkdir()
    (tmp_path / "few" / "less.csv").write_bytes(b"less")
    assert locate(file, tmp_path).name == "less.csv"
    (tmp_path / "few" / "good.csv").write_bytes(CONTENT)
    assert locate(file, tmp_path).name == "good.csv"


def test_a_cache_that_cannot_be_written_is_one_line(server, tmp_path, monkeypatch):
    address, _ = server
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCALING_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"cannot fetch few/good.csv"):
        locate(DataFile("few/good.csv", f"{address}/good.csv", SHA256))
