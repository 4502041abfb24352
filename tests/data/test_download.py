"""Downloads from a local server that fails in all the ways in which networks fail."""

import hashlib
import io
import shutil
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch

from signnap import load_graph
from signnap.data import download
from signnap.data.download import fetch
from signnap.data.public import DATASETS, cache_folder
from signnap.errors import SignnapError

BODY = bytes(range(256)) * 1000


class Server:
    """Answers each request for a path with the next behaviour in its queue, and repeats the last one."""

    def __init__(self):
        self.requests = []
        self.folder = None
        self.behaviours = {}
        self.release = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                queue = outer.behaviours.get(self.path)
                if queue is None:
                    body = (outer.folder / self.path[1:]).read_bytes()
                    return outer.send(self, 200, body, len(body))
                (queue.pop(0) if len(queue) > 1 else queue[0])(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    @staticmethod
    def send(handler, code, body, length, **headers):
        handler.send_response(code)
        if length is not None:
            handler.send_header("Content-Length", str(length))
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def on(self, path, *behaviours):
        self.behaviours[path] = list(behaviours)
        return self.url + path

    def answers(self, code=200, body=BODY, length=True, **headers):
        return lambda handler: self.send(handler, code, body, len(body) if length is True else length, **headers)

    def hangs(self):
        return lambda handler: self.release.wait(10)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "_BACK_OFF_SECONDS", 0.01)
    running = Server()
    yield running
    running.release.set()
    running.http.shutdown()
    running.http.server_close()


def refused(url, folder, **options):
    """The message of a download that must fail and leave no file."""
    with pytest.raises(SignnapError) as caught:
        fetch(url, folder / "file.bin", **options)
    assert list(folder.iterdir()) == []
    assert url in str(caught.value)
    assert str(folder / "file.bin") in str(caught.value)
    return str(caught.value)


def test_file_arrives_whole_with_one_plain_line_on_stderr(server, tmp_path, capsys):
    url = server.on("/a.bin", server.answers())
    path = fetch(url, tmp_path / "deep" / "a.bin", sha256=hashlib.sha256(BODY).hexdigest())
    assert path.read_bytes() == BODY
    assert [entry.name for entry in path.parent.iterdir()] == ["a.bin"]
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"downloading {url} (256,000 bytes)"]


def test_terminal_gets_a_bar(server, tmp_path, monkeypatch, capsys):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    fetch(server.on("/a.bin", server.answers()), tmp_path / "a.bin")
    assert "a.bin" in terminal.getvalue()
    assert "downloading" not in terminal.getvalue()
    assert capsys.readouterr().out == ""


def test_length_may_be_unknown(server, tmp_path):
    url = server.on("/a.bin", server.answers(length=None))
    assert fetch(url, tmp_path / "a.bin").read_bytes() == BODY


def test_transfer_cut_short_is_tried_again(server, tmp_path):
    url = server.on("/a.bin", server.answers(body=BODY[:1000], length=len(BODY)), server.answers())
    assert fetch(url, tmp_path / "a.bin").read_bytes() == BODY
    assert len(server.requests) == 2


def test_transfer_always_cut_short(server, tmp_path):
    url = server.on("/a.bin", server.answers(body=BODY[:1000], length=len(BODY)))
    assert "cut off after 1,000 of 256,000 bytes" in refused(url, tmp_path, retries=2)
    assert len(server.requests) == 3


def test_missing_file_is_not_tried_again(server, tmp_path):
    url = server.on("/a.bin", server.answers(404, b"no"))
    assert "the server answered 404" in refused(url, tmp_path)
    assert len(server.requests) == 1


def test_server_error_is_tried_again(server, tmp_path):
    url = server.on("/a.bin", server.answers(500, b"sorry"), server.answers(503, b"sorry"), server.answers())
    assert fetch(url, tmp_path / "a.bin").read_bytes() == BODY
    assert len(server.requests) == 3


def test_garbage_fails_its_checksum(server, tmp_path):
    expected = hashlib.sha256(BODY).hexdigest()
    message = refused(server.on("/a.bin", server.answers(body=b"<html>log in")), tmp_path, sha256=expected)
    assert f"its SHA-256 is {hashlib.sha256(b'<html>log in').hexdigest()}, expected {expected}" in message


def test_silent_server_times_out(server, tmp_path):
    url = server.on("/a.bin", server.hangs())
    start = time.monotonic()
    assert "silent for 0.2 seconds" in refused(url, tmp_path, timeout=0.2, retries=1)
    assert time.monotonic() - start < 4
    assert len(server.requests) == 2


def test_connection_refused(server, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert "no connection" in refused(f"http://127.0.0.1:{port}/a.bin", tmp_path, retries=1)


@pytest.mark.parametrize(
    ("length", "sentence"), [(True, "256,000 bytes long, the limit is 1,000"), (None, "longer than the limit of 1,000")]
)
def test_long_file_is_refused(server, tmp_path, length, sentence):
    url = server.on("/a.bin", server.answers(length=length))
    assert sentence in refused(url, tmp_path, max_bytes=1000)
    assert len(server.requests) == 1


def test_only_http_is_fetched(server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "only http and https" in refused(secret.as_uri(), empty)
    refused(server.on("/a.bin", server.answers(302, b"", Location=secret.as_uri())), empty, retries=0)
    refused(server.on("/b.bin", server.answers(302, b"", Location="ftp://127.0.0.1/a")), empty, retries=0)


@pytest.fixture
def mirror(server, raw_data, monkeypatch, tmp_path):
    """A server with the raw files, and an empty cache."""
    server.folder = raw_data
    monkeypatch.delenv("SIGNNAP_DATA", raising=False)
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SIGNNAP_MIRROR", server.url + "/")
    return server


@pytest.mark.data
def test_graph_is_downloaded_once(mirror):
    graph = load_graph("cora")
    assert sorted(mirror.requests) == sorted(f"/{file.path}" for file in DATASETS["cora"].files)
    assert load_graph("cora").fingerprint() == graph.fingerprint()
    assert torch.bincount(graph.y).tolist() == [351, 217, 418, 818, 426, 298, 180]
    assert len(mirror.requests) == len(DATASETS["cora"].files)


@pytest.mark.data
def test_damaged_download_is_fetched_again(mirror):
    load_graph("cora")
    mirror.requests.clear()
    shutil.rmtree(cache_folder() / "graphs")
    damaged = cache_folder() / "raw" / "planetoid" / "ind.cora.ty"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    load_graph("cora")
    assert mirror.requests == ["/planetoid/ind.cora.ty"]


@pytest.mark.data
def test_download_without_a_checksum_is_dropped_when_it_is_no_graph(mirror, raw_data):
    path = "/gnn-benchmark/amazon_electronics_photo.npz"
    whole = (raw_data / path[1:]).read_bytes()
    mirror.on(path, mirror.answers(body=b"<html>log in"), mirror.answers(body=whole))
    with pytest.raises(SignnapError, match="not a numpy archive"):
        load_graph("amazon_photo")
    assert load_graph("amazon_photo").num_edges == 119_081


@pytest.mark.data
def test_archive_of_a_mirror_with_permuted_labels_is_refused_and_not_kept(mirror, raw_data):
    path = "/gnn-benchmark/amazon_electronics_photo.npz"
    with np.load(raw_data / path[1:], allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files if key != "class_names"}
    changed = io.BytesIO()
    np.savez(changed, **arrays | {"labels": np.random.default_rng(0).permutation(arrays["labels"])})
    mirror.on(path, mirror.answers(body=changed.getvalue()), mirror.answers(body=(raw_data / path[1:]).read_bytes()))
    with pytest.raises(SignnapError, match="amazon_photo: the files give other edges, features or labels"):
        load_graph("amazon_photo")
    assert not [path for path in cache_folder().rglob("*") if path.is_file()]
    assert load_graph("amazon_photo").num_edges == 119_081
    assert len(mirror.requests) == 2


@pytest.mark.data
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_downloaded_files_are_private(mirror):
    load_graph("cora")
    raw = cache_folder() / "raw"
    assert {path.stat().st_mode & 0o777 for path in (raw, raw / "planetoid")} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in (raw / "planetoid").iterdir()} == {0o600}


def test_failed_download_names_the_place_for_the_file(server, monkeypatch, tmp_path):
    monkeypatch.delenv("SIGNNAP_DATA", raising=False)
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path))
    monkeypatch.setenv("SIGNNAP_MIRROR", server.url)
    first = DATASETS["facebook"].files[0].path
    url = server.on(f"/{first}", server.answers(404, b""))
    with pytest.raises(SignnapError) as caught:
        load_graph("facebook")
    assert url in str(caught.value)
    assert f"SIGNNAP_DATA/{first}" in str(caught.value)
