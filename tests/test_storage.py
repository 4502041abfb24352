"""Files that are either whole or absent."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from signnap.errors import SignnapError
from signnap.storage import (
    alone,
    append_regular,
    open_regular,
    path_of,
    read_regular,
    remove_leftovers,
    replacing,
    replacing_regular,
    stat_regular,
    write_regular,
    write_text,
)


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


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("write", [write_text, write_regular])
@pytest.mark.parametrize(("mode", "kept"), [(0o600, 0o600), (0o664, 0o664), (0o400, 0o600), (0o4755, 0o755)])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path, monkeypatch, mode, kept, write):
    path, linked, seen = tmp_path / "z.csv", tmp_path / "link.csv", []
    path.write_text("private")
    path.chmod(mode)
    linked.symlink_to(path)
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: seen.append(os.fstat(file)) or sync(file))
    monkeypatch.setattr(os, "umask", None)  # which is that of all threads
    write(path, "new")
    if write is write_text:
        write(linked, "newer")
    assert {stat.S_IMODE(each.st_mode) for each in (path.stat(), *seen)} == {kept}
    assert path.read_text() in ("new", "newer") and linked.is_symlink()


def test_what_a_killed_writer_left_can_be_removed(tmp_path, monkeypatch):
    path, other = tmp_path / "state[1].pt", tmp_path / "state[1].toml"
    write_text(path, "whole")
    write_text(other, "whole")
    with monkeypatch.context() as patch:
        patch.setattr("signnap.storage.Path.unlink", lambda *_, **__: None)  # a killed process does not clean up
        for each in (path, path, other):
            with pytest.raises(KeyboardInterrupt), replacing_regular(each):
                raise KeyboardInterrupt
    mine = [
        tmp_path / name
        for name in (
            ".state[1]-0123456789.pt",
            ".state[1]-0123456789abcdeg.pt",
            ".state1-0123456789abcdef.pt",
            "state[1]-0123456789abcdef.pt",
        )
    ]
    for file in mine:
        file.write_text("not ours")
    assert len(names(tmp_path)) == 9
    remove_leftovers(path)
    assert len(names(tmp_path)) == 7
    remove_leftovers(other)
    assert names(tmp_path) == sorted(file.name for file in (path, other, *mine))
    remove_leftovers(tmp_path / "nowhere" / "state.pt")


def killed_writer(path, monkeypatch):
    """Leave the temporary file of a killed process, and return it."""
    before = set(path.parent.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("signnap.storage.Path.unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt), replacing(path):
            raise KeyboardInterrupt
    (left,) = set(path.parent.iterdir()) - before
    return left


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, monkeypatch):
    path = tmp_path / "z.csv"
    for _ in range(2):
        killed_writer(path, monkeypatch)
    assert len(names(tmp_path)) == 2
    other = killed_writer(tmp_path / "y.csv", monkeypatch)
    write_text(path, "new")
    assert names(tmp_path) == sorted(["z.csv", other.name])


@pytest.mark.skipif(os.name == "nt", reason="links and FIFOs of POSIX")
def test_only_regular_files_of_the_user_are_leftovers(tmp_path, monkeypatch):
    path = tmp_path / "z.csv"
    left = killed_writer(path, monkeypatch)
    link, fifo, folder = (left.with_name(f".z-{digit * 16}.csv") for digit in "123")
    link.symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_text("mine")
    os.mkfifo(fifo)
    folder.mkdir()
    user = os.geteuid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: user + 1)
        remove_leftovers(path)
        assert left.exists()
    remove_leftovers(path)
    assert names(tmp_path) == sorted([link.name, fifo.name, folder.name, "victim"])


def test_two_writers_of_one_file_leave_each_others_files_alone(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "z.csv"
    with replacing(path) as first:
        first.write_text("first")
        write_text(path, "second")
        remove_leftovers(path)
        assert first.exists() and path.read_text() == "second"
    assert path.read_text() == "first" and names(tmp_path) == ["z.csv"]


def test_a_new_file_that_is_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    path, lock, locked = tmp_path / "z.csv", fcntl.flock, []

    def late(file, flags):
        """Another writer of the same file comes first, before the new file is locked."""
        locked.append(file)
        if len(locked) == 1:
            remove_leftovers(path)
        return lock(file, flags)

    monkeypatch.setattr(fcntl, "flock", late)
    write_text(path, "new")
    assert path.read_text() == "new" and names(tmp_path) == ["z.csv"] and len(locked) == 3


def test_on_a_disk_without_locks_only_old_files_are_leftovers(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*arguments):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    path = tmp_path / "z.csv"
    left = killed_writer(path, monkeypatch)
    remove_leftovers(path)
    assert left.exists()
    os.utime(left, (0, 0))
    write_text(path, "new")
    assert names(tmp_path) == ["z.csv"]


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
        remove_leftovers(links[1].resolve())
    assert links[0].read_text() == "new"


def test_a_writer_of_a_link_is_killed(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "state.pt"
    link.symlink_to(tmp_path / "disk" / "mine.txt")
    with monkeypatch.context() as patch:
        patch.setattr("signnap.storage.Path.unlink", lambda *_, **__: None)
        with pytest.raises(KeyboardInterrupt), replacing(link):
            raise KeyboardInterrupt
    assert len(names(tmp_path / "disk")) == 1
    remove_leftovers(link)
    assert len(names(tmp_path / "disk")) == 1, "a link is not followed to remove files elsewhere"
    with replacing(link) as temporary:
        assert names(tmp_path / "disk") == [temporary.name]
    assert names(tmp_path / "disk") == ["mine.txt"] and names(tmp_path) == ["disk", "state.pt"]


def test_bytes_reach_the_disk_before_the_name_does(tmp_path, monkeypatch):
    path, done, sync, replace = tmp_path / "a.txt", [], os.fsync, os.replace
    monkeypatch.setattr("signnap.storage.os.fsync", lambda file: done.append(os.fstat(file)) or sync(file))
    monkeypatch.setattr("signnap.storage.os.replace", lambda *paths: done.append("named") or replace(*paths))
    write_text(path, "all of it")
    synced, named = done
    assert named == "named" and synced.st_size == len("all of it") and synced.st_ino == path.stat().st_ino


# -- files in folders that may come from somebody else ---------------------------------------------------------------


def test_regular_files_are_read_and_written(tmp_path):
    path = tmp_path / "a.txt"
    assert stat_regular(path) is None and stat_regular(path / "below a file that is not there") is None
    append_regular(path, "Kühe")
    append_regular(path, " und 牛")
    assert read_regular(path, 100).decode() == "Kühe und 牛"
    write_regular(path, "new")
    assert read_regular(path, 3) == b"new" and names(tmp_path) == ["a.txt"]
    assert stat_regular(path / "below") is None
    with pytest.raises(SignnapError, match=f"^{path} has 3 bytes: expected at most 2$"):
        read_regular(path, 2)
    with pytest.raises(SignnapError, match=r"^cannot read .*absent: No such file or directory$"):
        read_regular(tmp_path / "absent", 2)


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SignnapError])
def test_a_regular_file_stays_until_the_new_one_is_whole(tmp_path, failure):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(failure), replacing_regular(path) as file:
        file.write(b"half")
        raise failure("stop")
    assert path.read_text() == "old" and names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.name == "nt", reason="links and FIFOs of POSIX")
def test_a_link_that_is_planted_after_the_check_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr("signnap.storage.stat_regular", lambda path: None)
    link, victim = tmp_path / "link", tmp_path / "victim"
    victim.write_text("mine")
    link.symlink_to(victim)
    with pytest.raises(SignnapError, match=r"^cannot read .*link: Too many levels of symbolic links"):
        read_regular(link, 100)
    with pytest.raises(SignnapError, match=r"^cannot write .*link: Too many levels of symbolic links"):
        append_regular(link, "x")
    write_regular(link, "new")
    assert not link.is_symlink() and link.read_text() == "new" and victim.read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="links and FIFOs of POSIX")
def test_a_fifo_that_is_planted_after_the_check_does_not_hang(tmp_path, monkeypatch):
    monkeypatch.setattr("signnap.storage.stat_regular", lambda path: None)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    with pytest.raises(SignnapError, match=r"fifo is a named pipe: expected a regular file$"):
        read_regular(fifo, 100)
    with pytest.raises(SignnapError, match=r"^cannot write .*fifo: "):
        append_regular(fifo, "x")
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(SignnapError, match=r"fifo is a named pipe: expected a regular file$"):
        append_regular(fifo, "x")
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_nothing_is_appended_to_a_file_with_another_name(tmp_path):
    victim, name = tmp_path / "victim", tmp_path / "metrics.jsonl"
    victim.write_text("mine")
    os.link(victim, name)
    with pytest.raises(SignnapError, match=r"metrics\.jsonl is also a file elsewhere \(a hard link\): expected"):
        append_regular(name, "x")
    write_regular(name, "new")
    append_regular(name, "er")
    assert (victim.read_text(), name.read_text()) == ("mine", "newer")


def test_an_open_file_is_opened_again_whatever_has_its_name(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("checked")
    with open_regular(path, 100) as file:
        if not os.path.exists("/dev/fd"):
            assert path_of(file) == path
            return
        path.unlink()
        path.write_text("planted")
        assert path_of(file).read_text() == "checked"


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
