"""Runs and embeddings that do not fit: one sentence on stderr, exit code 1, and every file as it was."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from spoil import Code, change, flip, remove, truncate, write

TRAIN = ("train", "edges.csv", "--nodes", "nodes.csv", "--iterations", 9, "--dim", 8, "--negatives", 16, "--out")
RESUME = (*TRAIN, "run", "--resume")
EMBED = ("embed", "run", "edges.csv", "--nodes", "nodes.csv", "--out")
EVALUATE = ("evaluate", "run", "edges.csv", "--nodes", "nodes.csv", "--split", "per-class:5:5")
ANALYZE = ("analyze", "run", "edges.csv", "--nodes", "nodes.csv")

#: name -> (what is done to the folder, the command, a pattern of the sentence)
CASES = {
    "resume nothing": (None, (*TRAIN, "new", "--resume"), r"new holds no run to resume: it has no config\.toml"),
    "resume with other settings": (
        None,
        (*RESUME, "--lr", 0.5),
        r"run was trained with lr = 0\.001, not 0\.5: cannot resume",
    ),
    "resume on another graph": (
        change("nodes.csv", ",0,", ",7,"),
        RESUME,
        r"run was trained on another graph than edges: cannot resume",
    ),
    "deep settings": (
        write("run/config.toml", f"dim = {'[' * 5000}"),
        RESUME,
        r"^run/config\.toml nests its values too deeply: expected a file of settings$",
    ),
    "truncated state": (
        truncate("run/state.pt"),
        RESUME,
        r"run/state\.pt is not a checkpoint of this program, or it was cut",
    ),
    "foreign state": (
        lambda: torch.save({"iteration": 3}, "run/state.pt"),
        RESUME,
        r"run/state\.pt is not a checkpoint of this program: it lacks the parts",
    ),
    "code in a state": (
        lambda: Path("run/state.pt").write_bytes(pickle.dumps(Code())),
        RESUME,
        r"run/state\.pt is not a checkpoint of this program",
    ),
    "a flipped bit in the state": (
        flip("run/state.pt"),
        RESUME,
        r"^run/state\.pt was damaged or replaced: expected the file whose SHA-256 hash is in run\.json$",
    ),
    "a flipped bit in the model": (
        flip("run/model.safetensors"),
        (*EMBED, "z.csv"),
        r"^run/model\.safetensors was damaged or replaced: expected the file whose SHA-256 hash is in run\.json$",
    ),
    "facts without a device": (
        change("run/run.json", '"device": "cpu",', ""),
        RESUME,
        r"^run/run\.json does not describe a run: expected 'device' in it$",
    ),
    "truncated model": (
        truncate("run/model.safetensors"),
        (*EMBED, "z.csv"),
        r"run/model\.safetensors is not a safetensors",
    ),
    "foreign model": (
        write("run/model.safetensors", b"\x02\0\0\0\0\0\0\0{}"),
        (*EMBED, "z.csv"),
        r"run/model\.safetensors holds the weights of another encoder",
    ),
    "no run": (None, ("embed", "walk", "synthetic", "--out", "z.csv"), r"walk is not a run folder: no such folder"),
    "an unfinished run": (
        remove("run/model.safetensors"),
        ANALYZE,
        r"run is not a finished run folder: it has no model\.safetensors",
    ),
    "another width": (
        None,
        ("embed", "run", "synthetic", "--out", "z.csv"),
        r"the model was trained on 3 features, but synthetic has [\d,]+",
    ),
    "other features": (
        change("nodes.csv", "size", "height"),
        (*EMBED, "z.csv"),
        r"the model was trained on column 'size', which nodes\.csv does not have",
    ),
    # judging
    "no labels": (
        lambda: Path("nodes.csv").write_text(re.sub(r",\w+$", "", Path("nodes.csv").read_text(), flags=re.M)),
        EVALUATE,
        r"graph edges has no labels: a split needs nodes whose class is known",
    ),
    "unknown probe": (None, (*EVALUATE, "--probe", "liner"), r"unknown probe 'liner', did you mean 'linear'\?"),
    "unknown split": (None, (*EVALUATE, "--split", "half"), r"cannot read the split 'half': expected paper, public"),
    "a split that does not fit": (
        None,
        (*EVALUATE, "--split", "paper"),
        r"class '\w+' of graph edges has 20 nodes, too few",
    ),
    "analyze an unknown split": (None, (*ANALYZE, "--split", "half"), r"cannot read the split 'half': expected paper"),
    "analyze a wrong share": (
        None,
        (*ANALYZE, "--drop-edge", 2),
        r"share of dropped edges is 2\.0: expected a number from 0",
    ),
    "unknown output": (
        None,
        (*EMBED, "z.txt"),
        r"z\.txt ends in '\.txt': expected embeddings in \.npy, \.csv, \.parquet",
    ),
    "unknown input": (
        write("z.txt", "1 2"),
        ("evaluate", "z.txt", *EVALUATE[2:]),
        r"z\.txt ends in '\.txt': expected embeddings in",
    ),
    "missing embeddings": (None, ("evaluate", "z.npy", *EVALUATE[2:]), r"there is no run folder or file z\.npy$"),
    "a run misspelt": (None, ("evaluate", "runn", *EVALUATE[2:]), r"there is no run folder or file runn$"),
    "a run twice": (
        None,
        ("evaluate", "run", "run", *EVALUATE[2:]),
        r"2 of the runs are of encoder seed 0: expected each seed once",
    ),
    "drop for a probe without steps": (
        None,
        (*EVALUATE, "--probe", "logistic", "--dropped-probe"),
        r"the probe logistic has no epochs and cannot train on dropped graphs: expected a linear probe",
    ),
    "too few embeddings": (
        lambda: np.save("z.npy", np.ones((3, 2))),
        ("evaluate", "z.npy", *EVALUATE[2:]),
        r"3 embeddings.* 60 nodes",
    ),
    "embeddings of others": (
        write("z.csv", "id,e0,e1\nnobody,1,2\n"),
        ("evaluate", "z.csv", *EVALUATE[2:]),
        r"(nobody|node \d\d)",
    ),
    "a pickle of embeddings": (
        lambda: np.save("z.npy", np.array([[Code()]], dtype=object)),
        ("evaluate", "z.npy", *EVALUATE[2:]),
        r"z\.npy",
    ),
    "drop for a file": (
        lambda: np.save("z.npy", np.ones((60, 2))),
        ("evaluate", "z.npy", *EVALUATE[2:], "--dropped-probe"),
        r"--dropped-probe embeds the graph anew and so needs run folders, but z\.npy is not one",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_nothing_changed(case, fails):
    spoil, arguments, pattern = CASES[case]
    if spoil is not None:
        spoil()
    sentence = fails(*arguments)
    assert re.search(pattern, sentence), sentence
