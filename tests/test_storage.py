"""Files that are either whole or absent."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from signnap.errors import SignnapError
from signnap.storage import alone, remove_leftovers, replacing, write_text


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "model.toml"
    write_text(path, "old")
    with replacing(path) as temporary:
        assert temporary.parent == path.parent and temporary.suffix == ".toml" and temporary != path
        temporary.write_text("new, half")
        assert path.read_text() == "old"
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["model.toml"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, SignnapError])
def test_a_failure_leaves_everything_as_it_was(tmp_path, failure):
    path = tmp_path / "results.csv"
    write_text(path, "old")
    with pytest.raises(failure), replacing(path) as temporary:
        temporary.write_text("half")
        raise failure("stop")
    assert path.read_text() == "old" and names(tmp_path) == ["results.csv"]
    with pytest.raises(failure), replacing(tmp_path / "other.csv"):
        raise failure("stop")
    assert names(tmp_path) == ["results.csv"]


def test_a_full_disk_is_one_sentence(tmp_path):
    path = tmp_path / "big.npy"
    with (
        pytest.raises(SignnapError, match=r"cannot write .*big.npy: No space left on device; nothing was left half"),
        replacing(path),
    ):
        raise OSError(28, "No space left on device")
    assert names(tmp_path) == []


def test_missing_folders_are_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "c.txt", "Kühe und 牛")
    assert (tmp_path / "a" / "b" / "c.txt").read_text(encoding="utf-8") == "Kühe und 牛"


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SignnapError, match=r"cannot write .*c.txt: "):
        write_text(tmp_path / "file" / "c.txt", "x")


def test_a_folder_where_a_file_should_be(tmp_path):
    (tmp_path / "folder.txt").mkdir()
    with pytest.raises(SignnapError, match=r"cannot write .*folder.txt: Is a directory"):
        write_text(tmp_path / "folder.txt", "x")
    assert names(tmp_path) == ["folder.txt"]


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_others_may_read_what_the_user_lets_them_read(tmp_path):
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a.txt", "x")
        assert os.umask(0o027) == 0o027, "the user's mask is put back"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_what_a_killed_writer_left_can_be_removed(tmp_path, monkeypatch):
    path, other = tmp_path / "state[1].pt", tmp_path / "state[1].toml"
    write_text(path, "whole")
    write_text(other, "whole")
    with monkeypatch.context() as patch:
        patch.setattr("signnap.storage.Path.unlink", lambda *_, **__: None)  # a killed process does not clean up
        for each in (path, path, other):
            with pytest.raises(KeyboardInterrupt), replacing(each):
                raise KeyboardInterrupt
    mine = [tmp_path / name for name in (".state[1]-notes.pt", ".state1-abcdefgh.pt", "state[1]-abcdefgh.pt")]
    for file in mine:
        file.write_text("not ours")
    assert len(names(tmp_path)) == 8
    remove_leftovers(path)
    assert len(names(tmp_path)) == 6
    remove_leftovers(other)
    assert names(tmp_path) == sorted(file.name for file in (path, other, *mine))
    remove_leftovers(tmp_path / "nowhere" / "state.pt")


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_leads_to_the_new_file(there, tmp_path):
    disk, here = tmp_path / "disk", tmp_path / "here"
    disk.mkdir()
    here.mkdir()
    link, file = here / "z.csv", disk / "of mine.txt"
    link.symlink_to(os.path.join("..", "disk", "of mine.txt"))
    if there:
        file.write_text("old")
    with replacing(link) as temporary:
        assert (temporary.parent.resolve(), temporary.suffix) == (disk.resolve(), ".csv")
        temporary.write_text("new")
        assert file.exists() == there
    assert link.is_symlink() and file.read_text() == "new"
    assert (names(here), names(disk)) == (["z.csv"], ["of mine.txt"])


def test_links_into_one_folder_do_not_remove_each_others_files(tmp_path):
    (tmp_path / "disk").mkdir()
    links = [tmp_path / name / "state.pt" for name in "ab"]
    for link in links:
        link.parent.mkdir()
        link.symlink_to(tmp_path / "disk" / f"{link.parent.name}.pt")
    with replacing(links[0]) as temporary:
        temporary.write_text("new")
        remove_leftovers(links[1])
    assert links[0].read_text() == "new"


def test_a_writer_of_a_link_is_killed(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "state.pt"
    link.symlink_to(tmp_path / "disk" / "mine.pt")
    with monkeypatch.context() as patch:
        patch.setattr("signnap.storage.Path.unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt), replacing(link):
            raise KeyboardInterrupt
    assert len(names(tmp_path / "disk")) == 1
    remove_leftovers(link)
    assert names(tmp_path / "disk") == [] and names(tmp_path) == ["disk", "state.pt"]


def test_bytes_reach_the_disk_before_the_name_does(tmp_path, monkeypatch):
    path, done, sync, replace = tmp_path / "a.txt", [], os.fsync, os.replace
    monkeypatch.setattr("signnap.storage.os.fsync", lambda file: done.append(os.fstat(file)) or sync(file))
    monkeypatch.setattr("signnap.storage.os.replace", lambda *paths: done.append("named") or replace(*paths))
    write_text(path, "all of it")
    synced, named = done
    assert named == "named" and synced.st_size == len("all of it") and synced.st_ino == path.stat().st_ino


# -- alone in a folder -----------------------------------------------------------------------------------------------

HELD = """
import sys, time
from pathlib import Path
from signnap.storage import alone
with alone(Path(sys.argv[1])):
    print("in", flush=True)
    time.sleep(60)
"""


def test_whoever_does_not_wait_is_told_who_is_there(tmp_path):
    pytest.importorskip("fcntl")
    with alone(tmp_path):
        with pytest.raises(SignnapError, match=f"^{tmp_path} is being written by another process: expected "):
            alone(tmp_path, wait=False).__enter__()
        with alone(tmp_path.parent, wait=False):
            pass
    with alone(tmp_path, wait=False), pytest.raises(SignnapError), alone(tmp_path, wait=False):
        pass
    with alone(tmp_path, wait=False):
        assert names(tmp_path) == []


def test_a_process_that_is_killed_holds_nobody_off(tmp_path):
    pytest.importorskip("fcntl")
    other = subprocess.Popen([sys.executable, "-c", HELD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "in\n"
    with pytest.raises(SignnapError, match="another process"), alone(tmp_path, wait=False):
        pass
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with alone(tmp_path, wait=False):
        pass


@pytest.mark.parametrize("wait", [True, False])
def test_where_folders_cannot_be_locked_nobody_is_held_off(wait, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    with alone(tmp_path / "missing", wait=wait), alone(tmp_path / "missing", wait=wait):
        pass
    with monkeypatch.context() as patch:
        patch.setattr("fcntl.flock", refuse)
        with alone(tmp_path, wait=wait), alone(tmp_path, wait=wait):
            pass
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with alone(tmp_path, wait=wait), alone(tmp_path, wait=wait):
        pass
