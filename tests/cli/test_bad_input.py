"""Graphs and settings that a user gets wrong: one sentence on stderr, exit code 1, and every file as it was."""

import re

import numpy as np
import pytest
from spoil import Code, add, change, remove, truncate, write

TRAIN = ("train", "edges.csv", "--nodes", "nodes.csv", "--out", "new", "--iterations", 1, "--dim", 8, "--negatives", 16)


def pickled_npz():
    np.savez("evil.npz", adj_matrix=np.eye(3), attr_matrix=np.array([[Code()]], dtype=object))


#: name -> (what is done to the folder, the command, a pattern of the sentence)
CASES = {
    # files of the graph
    "missing edges": (None, ("train", "nowhere.csv", "--out", "new"), r"there is no file nowhere\.csv"),
    "missing archive": (None, ("train", "nowhere.npz", "--out", "new"), r"there is no file nowhere\.npz"),
    "missing nodes": (
        remove("nodes.csv"),
        TRAIN,
        r"there is no file nodes\.csv",
    ),
    "a folder": (None, ("train", "run", "--out", "new"), r"run is a directory: expected a file"),
    "an unknown suffix": (
        write("a.xlsx", "x"),
        ("train", "a.xlsx", "--out", "new"),
        r"a\.xlsx ends in '\.xlsx': expected",
    ),
    "binary edges": (write("edges.csv", bytes(range(256)) * 20), TRAIN, r"edges\.csv"),
    "binary nodes": (write("nodes.csv", np.random.default_rng(0).bytes(3000)), TRAIN, r"nodes\.csv"),
    "no edges file content": (write("edges.csv", ""), TRAIN, r"edges\.csv is empty: expected a table"),
    "no nodes": (write("nodes.csv", "id,size,label\n"), TRAIN, r"nodes\.csv holds no nodes below its header"),
    "one column": (write("edges.csv", "a\nb\n"), TRAIN, r"edges\.csv has one column: expected two"),
    "an empty graph": (
        write("edges.csv", "source,target\n"),
        ("train", "edges.csv", "--out", "new"),
        r"edges.*(empty|holds no|at least one)",
    ),
    "missing id column": (
        None,
        (*TRAIN, "--id-column", "idd"),
        r"unknown column in nodes\.csv: 'idd', did you mean 'id'\?",
    ),
    "missing label column": (
        None,
        (*TRAIN, "--label-column", "team"),
        r"unknown column in nodes\.csv: 'team'\. Known: age, id, label",
    ),
    "columns without a table": (
        None,
        ("train", "edges.csv", "--out", "new", "--id-column", "id"),
        r"id_column='id' names a column of a node table, but no node table was given",
    ),
    "one endpoint": (None, (*TRAIN, "--endpoints", "source,"), r"--endpoints is 'source,': expected two column names"),
    "an unknown node": (
        add("edges.csv", "node 01,nobody"),
        TRAIN,
        r"edges\.csv, line \d+ names node 'nobody', which is not in column 'id' of nodes\.csv \(--id-column",
    ),
    "a node twice": (
        add("nodes.csv", "node 01,1,1,1,red"),
        TRAIN,
        r"nodes\.csv, line 62 gives node 'node 01' a second time: expected each id once",
    ),
    "NaN": (change("nodes.csv", ",0,", ",nan,"), TRAIN, r"nodes\.csv, line \d+, column 'rank' holds 'nan': expected"),
    "a gap": (
        change("nodes.csv", ",0,", ",,"),
        TRAIN,
        r"nodes\.csv, line \d+, column 'rank' is empty: expected a finite",
    ),
    "infinity": (
        change("nodes.csv", ",0,", ",inf,"),
        TRAIN,
        r"nodes\.csv, line \d+, column 'rank' holds 'inf': expected",
    ),
    "a pickle in an archive": (
        pickled_npz,
        ("train", "evil.npz", "--out", "new"),
        r"evil\.npz holds pickled objects in 'attr_matrix', which are never loaded",
    ),
    "a truncated archive": (
        lambda: (pickled_npz(), truncate("evil.npz")()),
        ("train", "evil.npz", "--out", "new"),
        r"evil\.npz is not a numpy archive \(\.npz\), or it was cut short",
    ),
    "no parquet": (
        write("e.parquet", "PAR1 but not"),
        ("train", "e.parquet", "--out", "new"),
        r"e\.parquet is not a readable",
    ),
    # settings
    "unknown dataset": (
        None,
        ("train", "pubmedd", "--out", "new"),
        r"unknown dataset 'pubmedd', did you mean 'pubmed'\?",
    ),
    "unknown backbone": (None, (*TRAIN, "--backbone", "jknt"), r"unknown backbone 'jknt', did you mean 'jknet'\?"),
    "unknown objective": (
        None,
        (*TRAIN, "--objective", "infonec"),
        r"unknown objective 'infonec', did you mean 'infonce'\?",
    ),
    "unknown method": (None, (*TRAIN, "--method", "signap"), r"unknown method 'signap', did you mean 'signnap'\?"),
    "unknown preset": (None, (*TRAIN, "--preset", "papre"), r"unknown preset 'papre', did you mean 'paper'\?"),
    "unknown noise": (None, (*TRAIN, "--noise", "gausian:0.1"), r"unknown noise 'gausian', did you mean 'gaussian'\?"),
    "unknown setting": (
        None,
        (*TRAIN, "--set", "drop_edges=0.1"),
        r"unknown setting 'drop_edges', did you mean 'drop_edge'\?",
    ),
    "unknown key in a file": (
        write("mine.toml", "drop-edge = 0.1"),
        (*TRAIN, "--config", "mine.toml"),
        r"mine\.toml: unknown setting 'drop-edge', did you mean 'drop_edge'\?",
    ),
    "a wrong type in a file": (
        write("mine.toml", 'lr = "fast"'),
        (*TRAIN, "--config", "mine.toml"),
        r"mine\.toml: lr is 'fast': expected a number",
    ),
    "bad TOML": (write("mine.toml", "dim = "), (*TRAIN, "--config", "mine.toml"), r"mine\.toml is not a TOML file: "),
    "no TOML": (None, (*TRAIN, "--config", "mine.toml"), r"cannot read mine\.toml: No such file"),
    "deep TOML": (
        write("mine.toml", f"dim = {'[' * 5000}"),
        (*TRAIN, "--config", "mine.toml"),
        r"^mine\.toml nests its values too deeply: expected a file of settings$",
    ),
    "a long number in a file": (
        write("mine.toml", f"dim = {'9' * 5000}"),
        (*TRAIN, "--config", "mine.toml"),
        r"^mine\.toml holds a number of thousands of digits: expected a file of settings$",
    ),
    "a long number": (
        None,
        (*TRAIN, "--set", f"heads={'9' * 5000}"),
        r"heads is '9{10,50}\.{3}9{10,50}': expected a whole number$",
    ),
    **{
        f"--set of {depth} brackets": (
            None,
            (*TRAIN, "--set", f"method={'[' * depth}{']' * depth}"),
            r"^--set method is a list or a table: expected one number, true, false or text$",
        )
        for depth in (1, 900, 100_000)
    },
    "--set without a value": (None, (*TRAIN, "--set", "seed"), r"--set seed: expected KEY=VALUE"),
    "--set of a wrong type": (None, (*TRAIN, "--set", "heads=many"), r"heads is 'many': expected a whole number"),
    "negative dim": (None, (*TRAIN, "--dim", -8), r"dim is -8: expected a whole number of at least 1"),
    "negative seed": (None, (*TRAIN, "--seed", -1), r"seed is -1: expected"),
    "too many edges dropped": (None, (*TRAIN, "--drop-edge", 1.5), r"drop_edge is 1\.5: expected a number from 0 to 1"),
    "learning rate": (None, (*TRAIN, "--lr", "nan"), r"lr is nan: expected a positive number"),
    "heads": (None, (*TRAIN, "--backbone", "gat", "--dim", 10), r"dim is 10 with 8 heads: expected a multiple"),
    "training split": (
        None,
        (*TRAIN, "--split", "inductive:half"),
        r"cannot read the split 'inductive:half': expected paper",
    ),
    "a training split that hides nothing": (
        None,
        (*TRAIN, "--split", "per-class:5:5"),
        r"split is 'per-class:5:5': expected none, or inductive:SPLIT to hide the judged nodes",
    ),
    "no CUDA": (
        None,
        (*TRAIN, "--device", "cuda"),
        r"device is cuda, but torch finds no CUDA device here: use cpu",
    ),
    "unknown device": (None, (*TRAIN, "--device", "gpu"), r"device is 'gpu': expected auto, cpu or cuda"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_nothing_changed(case, fails):
    spoil, arguments, pattern = CASES[case]
    if spoil is not None:
        spoil()
    sentence = fails(*arguments)
    assert re.search(pattern, sentence), sentence
