"""Run folders of somebody else: nothing but regular files of sensible sizes is opened, and no link is followed."""

import os
import re
import secrets
import shutil
import socket
import stat
from pathlib import Path

import pytest

from signnap.train.run_folder import RunFolder

TABLES = ("edges.csv", "--nodes", "nodes.csv")
TRAIN = ("train", *TABLES, "--iterations", 9, "--dim", 8, "--negatives", 16, "--out", "run")
#: What is done with a run folder; training writes to it.
ACTIONS = {
    "embed": ("embed", "run", *TABLES, "--out", "z.csv"),
    "evaluate": ("evaluate", "run", *TABLES, "--split", "per-class:5:5"),
    "resume": (*TRAIN, "--resume"),
    "train": TRAIN,
}
FILES = ("config.toml", "run.json", "metrics.jsonl", "model.safetensors", "state.pt", "trace.json")
HUGE = 10 * 2**30


def link(file):
    file.symlink_to(os.path.join("..", "victim"))


def dangling(file):
    file.symlink_to(os.path.join("..", "absent"))


def linked_folder(file):
    file.symlink_to("..")


def listen(file):
    """Make a socket; its path has to be short."""
    here = os.getcwd()
    os.chdir(file.parent)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(file.name)
    os.chdir(here)


#: What stands in the place of a file -> (how it is made, how it is called)
KINDS = {
    "link": (link, "a symbolic link"),
    "dangling link": (dangling, "a symbolic link"),
    "link to a folder": (linked_folder, "a symbolic link"),
    "link to a device": (lambda file: file.symlink_to("/dev/zero"), "a symbolic link"),
    "FIFO": (os.mkfifo, "a named pipe"),
    "socket": (listen, "a socket"),
    "folder": (Path.mkdir, "a folder"),
}


@pytest.fixture
def victim(folder):
    """A file of the user beside the run, which no command may touch or be led to."""
    file = folder / "victim"
    shutil.copy(folder / "run" / "config.toml", file)
    return file


def test_the_files_are_those_of_a_run(tmp_path):
    assert {file.name for file in RunFolder(tmp_path).files} == set(FILES)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_refused(kind, name, action, fails, victim):
    make, found = KINDS[kind]
    file = Path("run", name)
    if action == "train":  # a run of which only this is left would be begun anew
        shutil.rmtree("run")
        Path("run").mkdir()
    file.unlink(missing_ok=True)
    make(file)
    before = os.lstat(file).st_ino
    assert fails(*ACTIONS[action]) == f"{file} is {found}: expected a regular file"
    assert os.lstat(file).st_ino == before and not Path("absent").exists()
    assert sorted(os.listdir("run")) == sorted({name} if action == "train" else {*FILES[:-1], name})


def test_a_link_to_the_file_itself_moved_elsewhere_is_refused(fails, folder):
    for name in FILES[:-1]:
        moved = folder / name
        Path("run", name).rename(moved)
        Path("run", name).symlink_to(moved)
        for action in ("embed", "evaluate", "resume"):
            assert fails(*ACTIONS[action]) == f"run/{name} is a symbolic link: expected a regular file"
        Path("run", name).unlink()
        moved.rename(Path("run", name))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes devices")
@pytest.mark.parametrize("name", FILES[:-1])
def test_a_device_is_refused(name, fails, folder):
    file = Path("run", name)
    file.unlink()
    try:
        os.mknod(file, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
    except OSError:
        pytest.skip("devices cannot be made here")
    for action in ("embed", "evaluate", "resume"):
        assert fails(*ACTIONS[action]) == f"{file} is a device: expected a regular file"


@pytest.mark.parametrize(
    ("name", "actions"),
    {
        "config.toml": ("embed", "resume"),
        "run.json": ("embed", "resume"),
        "model.safetensors": ("embed",),
        "metrics.jsonl": ("resume",),
        "state.pt": ("resume",),
    }.items(),
)
def test_a_file_of_an_absurd_size_is_refused(name, actions, fails, folder, monkeypatch):
    file = Path("run", name)
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"" if path.stat().st_size == HUGE else read(path))
    with open(file, "r+b") as sparse:
        sparse.truncate(HUGE)
    for action in actions:
        sentence = fails(*ACTIONS[action])
        if name == "model.safetensors":  # its head tells what it should hold
            assert re.search(rf"^{file} is not a safetensors file or is truncated", sentence)
        else:
            assert re.search(rf"^{file} has {HUGE:,} bytes: expected at most [\d,]+$", sentence), sentence
    assert file.stat().st_size == HUGE


def test_files_with_other_names_elsewhere_are_not_changed(command, folder):
    """Hard links cannot be told from files, and reading them does no harm: writing puts new files in their place."""
    kept = {name: Path("run", name).read_bytes() for name in FILES[:-1]}
    for name in kept:
        os.link(Path("run", name), folder / f"mine of {name}")
    assert command(*ACTIONS["embed"]).code == 0
    assert command(*ACTIONS["resume"]).code == 0
    for name, content in kept.items():
        assert (folder / f"mine of {name}").read_bytes() == content, name
        assert os.stat(Path("run", name)).st_nlink == 1
    assert len(Path("run", "metrics.jsonl").read_text().splitlines()) > len(kept["metrics.jsonl"].splitlines())


def test_links_under_temporary_names_are_not_followed(command, victim, monkeypatch):
    """Somebody has guessed the first name of every temporary file."""
    before, draw, drawn = victim.read_bytes(), secrets.token_hex, []
    for name in FILES:
        link(Path("run", f".{Path(name).stem}-{'0' * 16}{Path(name).suffix}"))

    def guessed(size):
        drawn.append(size)
        return "0" * 16 if len(drawn) % 2 else draw(size)

    monkeypatch.setattr("secrets.token_hex", guessed)
    assert command(*ACTIONS["resume"]).code == 0
    assert len(drawn) >= 10 and victim.read_bytes() == before
    assert not [path for path in Path("run").iterdir() if path.is_symlink() and not path.name.startswith(".")]


def test_a_link_under_a_temporary_name_is_no_leftover(command, victim):
    before, planted = victim.read_bytes(), f".state-{'0' * 16}.pt"
    link(Path("run", planted))
    assert command(*ACTIONS["resume"]).code == 0
    assert sorted(os.listdir("run")) == sorted([*FILES[:-1], planted]) and victim.read_bytes() == before


def test_the_folder_itself_may_be_a_link(command, folder):
    """The user has named it, unlike what is inside."""
    Path("run").rename("disk")
    Path("run").symlink_to("disk")
    assert command(*ACTIONS["embed"]).code == 0
    assert command(*ACTIONS["resume"]).code == 0
    assert Path("run").is_symlink() and sorted(os.listdir("disk")) == sorted(FILES[:-1])


def test_the_folder_of_a_seed_may_not_be_a_link(fails, folder):
    Path("runs").mkdir()
    Path("runs", "seed-0").symlink_to(Path("..", "run"))
    for more in ((), ("--resume",)):
        sentence = fails(*TRAIN[:-1], "runs", "--seeds", "0,1", *more)
        assert sentence == "runs/seed-0 is a symbolic link: expected a folder"


@pytest.mark.parametrize("action", ["embed", "resume", "train"])
def test_a_fifo_in_the_place_of_the_folder(action, fails, folder):
    shutil.rmtree("run")
    os.mkfifo("run")
    found = "is not a run folder: a file" if action == "embed" else "is a named pipe: expected a folder"
    assert fails(*ACTIONS[action]) == f"run {found}"


def test_the_demo_follows_no_links(fails, folder):
    """Its folder may be somebody else's, too."""
    shutil.copy("nodes.csv", "victim")
    for name in ("demo.json", "embeddings.csv", "run/demo.txt", "run/metrics.jsonl"):
        shutil.rmtree("made", ignore_errors=True)
        Path("made", "run").mkdir(parents=True)
        Path("made", name).symlink_to(folder / "victim")
        if name != "run/demo.txt":
            Path("made", "run", "demo.txt").touch()
        else:
            Path("made", "demo.json").touch()
        assert fails("demo", "--out", "made") == f"made/{name} is a symbolic link: expected a regular file"


def test_an_output_that_the_user_names_may_be_a_link(command, folder):
    Path("z.csv").symlink_to("elsewhere.csv")
    assert command(*ACTIONS["embed"]).code == 0
    assert Path("z.csv").is_symlink() and Path("elsewhere.csv").is_file()


@pytest.mark.parametrize("name", ["z.csv", "z.npy", "z.parquet"])
def test_private_embeddings_stay_private(name, command, folder):
    Path(name).touch(0o600)
    assert command(*ACTIONS["embed"][:-1], name).code == 0
    assert stat.S_IMODE(os.stat(name).st_mode) == 0o600 and os.path.getsize(name) > 1000
