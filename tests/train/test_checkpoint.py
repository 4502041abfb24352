"""A run folder: whole at every moment, read as data, and refused in one sentence where it does not fit."""

import errno
import hashlib
import json
import os
import pickle
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from full_disk import full_disk
from signnap import SIGNNAP
from signnap.errors import SignnapError
from signnap.train.run_folder import RunFolder
from signnap.train.run_info import RunInfo

#: A line of the metrics, less its iteration.
RECORD = {"loss": 1.5, "norm": 1.0, "effective_rank": 3.0, "uniformity": -1.0, "seconds": 0.5}
SMALL = {"dim": 8, "negatives": 16, "temperature": 0.5}
#: The facts that loading and resuming rely on.
REQUIRED = ("fingerprint", "feature_names", "finished", "num_nodes", "num_features", "num_classes", "device")


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run")


@pytest.fixture
def trained(small_graph, tmp_path):
    """A finished run of six iterations."""
    return SIGNNAP(**SMALL, iterations=6).fit(small_graph, out=tmp_path / "run"), RunFolder(tmp_path / "run")


def forget_hashes(folder):
    """Make this the folder of a version that recorded none, so that a changed file is read."""
    folder.facts.write_text(json.dumps(folder.read_info().facts))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


def test_the_files_of_a_run(trained):
    _, folder = trained
    assert set(contents(folder)) == {"config.toml", "metrics.jsonl", "model.safetensors", "state.pt", "run.json"}
    state = torch.load(folder.state, weights_only=True)
    assert state["iteration"] == 6
    assert set(state) == {"iteration", "modules", "optimizer", "generators", "best", "origin"}
    assert state["origin"] == {"seed": 0, "fingerprint": folder.read_info().fingerprint}
    assert set(state["generators"]) == {"views", "negatives", "layers", "objective"}
    assert "objective.bank.first" in state["modules"]
    records = list(folder.read_metrics())
    assert [record["iteration"] for record in records] == [1, 6]
    assert {"loss", "mutual_information_bound", "alignment", "uniformity", "norm", "seconds"} <= set(records[0])
    facts = folder.read_info().facts
    assert facts["finished"] and facts["iterations"] == 6 and facts["loss"] == records[-1]["loss"]
    assert {"signnap", "torch", "device", "fingerprint", "seconds", "peak_memory_mb"} <= set(facts)


# -- writing fails ---------------------------------------------------------------------------------------------------


def partly(error):
    """A writer that puts half a file on the disk, if it is given one, and then fails."""

    def write(*given):
        for file in given:
            if hasattr(file, "write"):
                file.write(b"half of a fi")
        raise error

    return write


FULL = OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("writer", "error"),
    [
        ("torch.save", FULL),
        ("torch.save", RuntimeError("unexpected pos 64 vs 0\nstack")),
        ("safetensors.torch.save", FULL),
        ("os.fsync", FULL),
    ],
)
def test_a_failure_while_writing_leaves_the_old_file(writer, error, trained, monkeypatch):
    model, folder = trained
    before = contents(folder)
    monkeypatch.setattr(writer, partly(error))
    with pytest.raises(SignnapError) as caught:
        folder.save_state({"iteration": 7}, model.encoder_.state_dict())
    files = {"torch.save": folder.state, "safetensors.torch.save": folder.model, "os.fsync": folder.facts}
    file = files[writer]
    reason = error.strerror if isinstance(error, OSError) else "unexpected pos 64 vs 0 stack"
    assert str(caught.value) == f"cannot write {file}: {reason}; nothing was left half-written"
    after = contents(folder)
    assert after.keys() == before.keys()
    assert after[file.name] == before[file.name]


def test_a_disk_that_is_full(trained, small_graph, tmp_path):
    _, folder = trained
    before = contents(folder)
    with full_disk(len(before["state.pt"]) // 2), pytest.raises(SignnapError) as caught:
        SIGNNAP(**SMALL, iterations=7).fit(small_graph, out=folder.path, resume=True)
    assert str(caught.value) == f"cannot write {folder.state}: File too large; nothing was left half-written"
    after = contents(folder)
    assert after.keys() == before.keys()
    assert after["state.pt"] == before["state.pt"]
    SIGNNAP(**SMALL, iterations=7).fit(small_graph, out=folder.path, resume=True)
    assert folder.load_state()["iteration"] == 7

    fresh = RunFolder(tmp_path / "fresh")
    size = len(before["model.safetensors"]) - 1
    with full_disk(size), pytest.raises(SignnapError, match=r"^cannot write .*state\.pt: .*File too large"):
        SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=fresh.path)
    assert set(contents(fresh)) == {"config.toml", "run.json", "metrics.jsonl"}
    with full_disk(100), pytest.raises(SignnapError, match=r"^cannot write .*run\.json: "):
        SIGNNAP(**SMALL, iterations=3).fit(small_graph, out=tmp_path / "fuller")
    assert not (tmp_path / "fuller").exists()


def test_metrics_that_cannot_be_written(folder, tmp_path):
    with pytest.raises(SignnapError, match=r"^cannot write .*metrics.jsonl: No such file or directory"):
        folder.append_metrics({"iteration": 1})


def test_weights_that_layers_share(folder, small_graph):
    module = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
    module["b"].weight = module["a"].weight
    folder.save_model("", RunInfo.of(small_graph).facts, module.state_dict())
    other = nn.ModuleDict({"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)})
    folder.load_into(other)
    assert torch.equal(other["b"].weight, module["a"].weight)


# -- reading what is damaged or foreign ------------------------------------------------------------------------------


class Code:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


FOREIGN = {
    "text": lambda file, trap: file.write_text("hello"),
    "empty": lambda file, trap: file.write_bytes(b""),
    "code in a pickle": lambda file, trap: file.write_bytes(pickle.dumps(Code(trap))),
    "code in a checkpoint": lambda file, trap: torch.save({"iteration": Code(trap)}, file),
    "a plain dict": lambda file, trap: torch.save({"iteration": 3}, file),
    "a tensor": lambda file, trap: torch.save(torch.ones(3), file),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_state_is_one_sentence_and_never_runs(kind, trained, small_graph, tmp_path):
    _, folder = trained
    FOREIGN[kind](folder.state, str(tmp_path / "trap"))
    forget_hashes(folder)
    before = contents(folder)
    with pytest.raises(SignnapError, match=rf"^{folder.state} is not a checkpoint of this program") as caught:
        SIGNNAP(**SMALL, iterations=9).fit(small_graph, out=folder.path, resume=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "trap").exists()
    assert contents(folder) == before


@pytest.mark.parametrize("part", [0.01, 0.5, 0.999])
def test_truncated_files(part, trained, small_graph):
    _, folder = trained
    for file in (folder.state, folder.model):
        whole = file.read_bytes()
        file.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(SignnapError, match=r"state\.pt is not a checkpoint of this program, or it was cut short$"):
        folder.load_state()
    with pytest.raises(SignnapError, match=r"model\.safetensors is not a safetensors file or is truncated"):
        SIGNNAP.load(folder.path)


def test_the_state_of_another_run(trained, small_graph, tmp_path):
    _, folder = trained
    SIGNNAP(**SMALL | {"dim": 16}, iterations=2).fit(small_graph, out=tmp_path / "wider")
    (tmp_path / "wider" / "state.pt").rename(folder.state)
    forget_hashes(folder)
    with pytest.raises(SignnapError, match=r"state\.pt is the checkpoint of another run \("):
        SIGNNAP(**SMALL, iterations=9).fit(small_graph, out=folder.path, resume=True)
    torch.save({"iteration": 1, "modules": {}, "optimizer": None, "generators": 3}, folder.state)
    with pytest.raises(SignnapError, match=r"state\.pt is the checkpoint of another run \("):
        SIGNNAP(**SMALL, iterations=9).fit(small_graph, out=folder.path, resume=True)


def test_the_weights_of_another_encoder(trained, small_graph, tmp_path):
    _, folder = trained
    SIGNNAP("sage", **SMALL, iterations=2).fit(small_graph, out=tmp_path / "sage")
    (tmp_path / "sage" / "model.safetensors").rename(folder.model)
    with pytest.raises(SignnapError, match=r"model\.safetensors holds the weights of another encoder"):
        SIGNNAP.load(folder.path)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON: "),
        ("[" * 100_000, "is not JSON: "),
        ("[]", "does not describe a run: "),
        ('{"fingerprint": "x"}', "'feature_names' in it"),
    ],
)
def test_facts_that_are_none(text, sentence, trained):
    _, folder = trained
    folder.facts.write_text(text)
    with pytest.raises(SignnapError, match=sentence):
        SIGNNAP.load(folder.path)


def test_facts_with_fewer_than_no_features(trained):
    _, folder = trained
    folder.write_facts(folder.read_info().facts | {"num_features": -3})
    with pytest.raises(SignnapError, match="does not describe a run: expected 'num_features' in it"):
        SIGNNAP.load(folder.path)


@pytest.mark.parametrize("names", [[1, 2, 3], [None], [["a"]]])
def test_facts_with_names_that_are_no_texts(names, trained):
    _, folder = trained
    folder.write_facts(folder.read_info().facts | {"feature_names": names})
    with pytest.raises(SignnapError, match=r"does not describe a run: expected texts as 'feature_names'$"):
        SIGNNAP.load(folder.path)


@pytest.mark.parametrize("path", ["", "a\0", None, 5])
def test_what_is_no_path(path, trained, small_graph, tmp_path, monkeypatch):
    model, _ = trained
    monkeypatch.chdir(tmp_path)
    attempts = [model.save, SIGNNAP.load]
    if path is not None:
        attempts += [
            lambda path: model.fit(small_graph, out=path),
            lambda path: model.fit_seeds(small_graph, [1], out=path),
        ]
    for attempt in attempts:
        with pytest.raises(SignnapError, match=r"^the folder of a run is .*: expected a path$"):
            attempt(path)
    assert os.listdir(tmp_path) == ["run"]


def test_what_is_no_run_folder(tmp_path):
    (tmp_path / "edges.csv").touch()
    with pytest.raises(SignnapError, match=r"edges\.csv is not a run folder: a file"):
        SIGNNAP.load(tmp_path / "edges.csv")
    with pytest.raises(SignnapError, match=r"nowhere is not a run folder: no such folder"):
        SIGNNAP.load(tmp_path / "nowhere")
    with pytest.raises(SignnapError, match=r"is not a finished run folder: it has no config\.toml"):
        SIGNNAP.load(tmp_path)
    (tmp_path / "config.toml").write_text("dim = 8")
    with pytest.raises(SignnapError, match=r"is not a finished run folder: it has no model\.safetensors"):
        SIGNNAP.load(tmp_path)


# -- reading what is out of reach -------------------------------------------------------------------------------------


def closed(monkeypatch, file):
    """Let nobody look at a file or open it: permissions would not keep root out."""
    refuse = PermissionError(errno.EACCES, "Permission denied")

    def guarded(real):
        def act(path, *arguments, **options):
            if str(path) == str(file):
                raise refuse
            return real(path, *arguments, **options)

        return act

    for opener in ("lstat", "open"):
        monkeypatch.setattr(os, opener, guarded(getattr(os, opener)))


@pytest.mark.parametrize("name", ["config", "model", "state", "metrics", "facts"])
def test_files_that_are_closed_to_us(name, trained, small_graph, monkeypatch):
    _, folder = trained
    file = getattr(folder, name)
    closed(monkeypatch, file)
    sentence = f"^cannot read {file}: Permission denied$"
    if name in ("config", "model", "facts"):
        with pytest.raises(SignnapError, match=sentence):
            SIGNNAP.load(folder.path)
    if name != "model":
        with pytest.raises(SignnapError, match=sentence):
            SIGNNAP(**SMALL, iterations=9).fit(small_graph, out=folder.path, resume=True)


@pytest.mark.parametrize("name", ["model", "state"])
def test_a_file_that_cannot_be_opened_is_not_called_damaged(name, trained, monkeypatch):
    model, folder = trained
    file = getattr(folder, name)
    file.unlink()
    file.mkdir()  # which root cannot read either
    with pytest.raises(SignnapError, match=f"^{file} is a folder: expected a regular file$"):
        folder.load_state() if name == "state" else folder.load_into(model.encoder_)


def test_a_name_that_is_too_long(small_graph, tmp_path):
    out = tmp_path / ("x" * 300)
    for options in ({}, {"resume": True}):
        with pytest.raises(SignnapError, match=r"^cannot (read|write) .*x/\w+\.\w+: File name too long"):
            SIGNNAP(**SMALL, iterations=1).fit(small_graph, out=out, **options)
    with pytest.raises(SignnapError, match=r"File name too long|no such folder"):
        SIGNNAP.load(out)


# -- metrics ---------------------------------------------------------------------------------------------------------


def test_metrics_are_cut_back_to_the_checkpoint(folder):
    assert list(folder.read_metrics()) == []
    folder.path.mkdir()
    for iteration in (1, 20, 40, 60):
        folder.append_metrics(RECORD | {"iteration": iteration})
    with open(folder.metrics, "a") as log:
        log.write('{"iteration": 80, "lo')
    assert [record["iteration"] for record in folder.read_metrics()] == [1, 20, 40, 60]
    folder.cut_metrics(45)
    lines = folder.metrics.read_text().splitlines()
    assert [json.loads(line) for line in lines] == [RECORD | {"iteration": i} for i in (1, 20, 40)]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\xff\xfe", " is not a text file in UTF-8: "),
        (b"{}\n", ", line 1 is no record of a run: expected a number 'iteration' in it"),
        (b"[1, 2]\n", ", line 1 is no record of a run: expected a number 'iteration' in it"),
        (b'{"iteration": "one"}\n', ", line 1 is no record of a run: expected a number 'iteration' in it"),
        (b'{"iteration": 1, "seconds": 1}\n', ", line 1 is no record of a run: expected a number 'loss' in it"),
        (b"half a li\n{}\n", ", line 1 is not JSON: "),
        (b"[" * 100_000, ", line 1 is not JSON: "),
        (b"1" * 10_000, ", line 1 is not JSON: "),
    ],
)
def test_foreign_metrics(content, sentence, trained, small_graph):
    _, folder = trained
    folder.metrics.write_bytes(content)
    before = contents(folder)
    with pytest.raises(SignnapError) as caught:
        SIGNNAP(**SMALL, iterations=9).fit(small_graph, out=folder.path, resume=True)
    assert str(caught.value).startswith(f"{folder.metrics}{sentence}") and "\n" not in str(caught.value)
    assert contents(folder) == before


# -- files that were damaged or replaced ----------------------------------------------------------------------------


def resume(folder, graph):
    return SIGNNAP(**SMALL, iterations=9).fit(graph, out=folder.path, resume=True)


@pytest.mark.parametrize("name", ["state", "model"])
@pytest.mark.parametrize("place", [0.3, 0.6, 0.9])
def test_a_flipped_bit_is_noticed(name, place, trained, small_graph):
    _, folder = trained
    file = getattr(folder, name)
    content = bytearray(file.read_bytes())
    content[int(place * len(content))] ^= 64
    file.write_bytes(content)
    before = contents(folder)
    with pytest.raises(SignnapError, match=rf"^{file} "):
        resume(folder, small_graph) if name == "state" else SIGNNAP.load(folder.path)
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["state", "model"])
def test_the_file_of_another_seed_is_noticed(name, trained, small_graph, tmp_path, caplog):
    _, folder = trained
    file = getattr(folder, name)
    act = lambda: resume(folder, small_graph) if name == "state" else SIGNNAP.load(folder.path)
    SIGNNAP(**SMALL, iterations=6, seed=1).fit(small_graph, out=tmp_path / "other")
    (tmp_path / "other" / file.name).replace(file)
    expected = f"{file} was damaged or replaced: expected the file whose SHA-256 hash is in run.json"
    with pytest.raises(SignnapError, match=f"^{re.escape(expected)}$"):
        act()
    forget_hashes(folder)
    if name == "state":
        with pytest.raises(SignnapError, match=r"checkpoint of another run \(its seed or its graph is another\)$"):
            act()
    else:
        with caplog.at_level("INFO", "signnap"):
            act()
        assert caplog.messages == [f"{file}: its hash is not in run.json, so damage cannot be detected"]


def test_a_packed_state_that_would_fill_the_memory_is_not_unpacked(trained, small_graph, monkeypatch):
    _, folder = trained
    state = folder.load_state()
    state["modules"]["more"] = torch.zeros(2**23)
    torch.save(state, folder.state)
    with zipfile.ZipFile(folder.state) as plain:
        entries = {entry.filename: plain.read(entry) for entry in plain.infolist()}
    with zipfile.ZipFile(folder.state, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in entries.items():
            packed.writestr(name, content)
    assert folder.state.stat().st_size < 2**17
    forget_hashes(folder)
    monkeypatch.setattr("torch.load", None)
    with pytest.raises(SignnapError, match=r"state\.pt is not a checkpoint of this program, or it was cut short$"):
        resume(folder, small_graph)


def test_a_run_of_before_goes_on(trained, small_graph, caplog):
    """Earlier versions recorded neither hashes nor the origin of a state."""
    _, folder = trained
    state = folder.load_state()
    del state["origin"]
    torch.save(state, folder.state)
    forget_hashes(folder)
    with caplog.at_level("INFO", "signnap"):
        resume(folder, small_graph)
    assert caplog.messages == [f"{folder.state}: its hash is not in run.json, so damage cannot be detected"]
    assert set(folder.read_info().hashes) == {"state.pt", "model.safetensors"}
    caplog.clear()
    SIGNNAP.load(folder.path)
    assert folder.load_state()["iteration"] == 9 and caplog.messages == []


@pytest.mark.parametrize("name", ["state.pt", "model.safetensors"])
@pytest.mark.parametrize("earlier", [False, True])
def test_kills_before_a_file_gets_its_name_leave_a_run_that_goes_on(earlier, name, trained, small_graph, monkeypatch):
    _, folder = trained
    if earlier:
        forget_hashes(folder)

    class Killed(BaseException):
        pass

    replace = os.replace

    def kill(source, target):
        if Path(target).name == name:
            raise Killed
        replace(source, target)

    for iterations in (7, 8, 9):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(os, "replace", kill)
            SIGNNAP(**SMALL, iterations=iterations).fit(small_graph, out=folder.path, resume=True)
        SIGNNAP.load(folder.path)
    resumed = resume(folder, small_graph)
    assert np.array_equal(resumed.transform(small_graph), SIGNNAP(**SMALL, iterations=9).fit_transform(small_graph))


def test_a_model_that_is_saved_has_its_own_hash(trained, tmp_path):
    model, folder = trained
    model.save(tmp_path / "model")
    loaded = SIGNNAP.load(tmp_path / "model")
    assert loaded.info_ == model.info_
    SIGNNAP.load(folder.path).save(tmp_path / "again")
    hashes = [RunFolder(tmp_path / name).read_info().hashes for name in ("model", "again")]
    found = hashlib.sha256((tmp_path / "model" / "model.safetensors").read_bytes()).hexdigest()
    assert hashes == [{"model.safetensors": (found,)}] * 2


def test_no_more_hashes_than_files_there_may_be(trained, small_graph):
    _, folder = trained
    SIGNNAP(**SMALL, iterations=15).fit(small_graph, out=folder.path, resume=True, save_every=0)
    assert {name: len(hashes) for name, hashes in folder.read_info().hashes.items()} == {
        "state.pt": 2, "model.safetensors": 2
    }  # fmt: skip


def test_weights_that_are_nan_are_not_loaded(trained, small_graph, tmp_path):
    model, _ = trained
    with torch.no_grad():
        next(model.encoder_.parameters())[0] = torch.nan
    model.save(tmp_path / "nan")
    with pytest.raises(SignnapError, match=r"nan/model\.safetensors has NaN in [\w.]+: expected numbers"):
        SIGNNAP.load(tmp_path / "nan")


# -- facts that are missing or of another type -----------------------------------------------------------------------


@pytest.mark.parametrize("name", REQUIRED)
@pytest.mark.parametrize("value", [None, 3.5, "absent"])
def test_every_fact_that_is_relied_on_is_checked(name, value, trained, small_graph):
    _, folder = trained
    facts = json.loads(folder.facts.read_text()) | {name: value}
    if value == "absent":
        del facts[name]
    folder.facts.write_text(json.dumps(facts))
    before = contents(folder)
    for act in (lambda: SIGNNAP.load(folder.path), lambda: resume(folder, small_graph)):
        with pytest.raises(SignnapError, match=rf"^{folder.facts} does not describe a run: expected '{name}' in it$"):
            act()
    assert contents(folder) == before


@pytest.mark.parametrize("hashes", [[], {"state.pt": "0" * 64}, {"state.pt": ["0"]}, {"state.pt": [0]}, None, 3])
def test_hashes_that_are_none(hashes, trained):
    _, folder = trained
    folder.facts.write_text(json.dumps(json.loads(folder.facts.read_text()) | {"sha256": hashes}))
    with pytest.raises(SignnapError, match=r"does not describe a run: expected lists of SHA-256 hashes as 'sha256'$"):
        SIGNNAP.load(folder.path)


@pytest.mark.parametrize("name", ["graph", "labels", "backbone", "objective", "perturbation"])
def test_facts_that_only_some_runs_have_are_checked_too(name, trained):
    _, folder = trained
    folder.write_facts(folder.read_info().facts | {name: 3})
    with pytest.raises(SignnapError, match=rf"does not describe a run: expected '{name}' in it$"):
        SIGNNAP.load(folder.path)
