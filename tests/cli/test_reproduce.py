"""``signnap reproduce``: a table from rows, made piece by piece, and one sentence where it cannot be."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from signnap.data import synthetic_graph
from signnap.evaluate import logistic
from signnap.experiments import authors, runner

GRAPH = synthetic_graph(nodes=240, communities=3, words=60)
SPLIT = "per-class:10:10"


def figure(method, graph, **settings):
    """One that nobody reported: zero is always exceeded."""
    probe = "none" if method == "supervised" else "logistic"
    return {"method": method, "graph": graph, "settings": settings, "split": SPLIT, "probes": [probe], "mean": 0.0,
            "own": True, "source": "nobody"}  # fmt: skip


FIGURES = [
    figure("raw", "cora"),
    figure("dgi", "cora", dim=8, hidden=8, iterations=2),
    figure("supervised", "pubmed", dim=8, iterations=2),
    figure("raw", "cora") | {"own": False},
]


@pytest.fixture
def small(monkeypatch):
    """A table of three cells on small graphs; the graphs that were loaded."""
    names = []

    def load(name):
        names.append(name)
        return replace(GRAPH, name=name)

    monkeypatch.setattr(runner, "load_graph", load)
    monkeypatch.setattr(authors, "figures", lambda: FIGURES)
    monkeypatch.setattr(logistic, "GRID", (1.0,))
    return names


def methods_in(path):
    return [json.loads(line)["cell"]["method"] for line in Path(path).read_text().splitlines()]


def test_a_table_piece_by_piece(small, command):
    found = command(
        "reproduce", "authors", "--methods", "raw,supervised", "--graphs", "cora", "--device", "cpu", "--json"
    )
    page = os.path.join("results", "authors.md")
    assert found.json == {"target": "authors", "cells": 1, "missing": 0, "table": page}
    assert found.err.splitlines() == ["cell 1/1  raw on cora", f"wrote {page}"]
    assert methods_in("results/authors.jsonl") == ["raw"]
    assert "1 above, 0 misses, 0 failed, 2 not run" in Path(page).read_text()

    later = command("reproduce", "authors", "--device", "cpu", "--limit", 0)
    assert (later.code, later.out) == (0, "")
    assert later.err == f"wrote {page}; 2 of 3 cells are missing: run the same command again\n"
    assert small == ["cora"]

    rest = command("reproduce", "authors", "--device", "cpu", "--json")
    assert (rest.json["cells"], rest.json["missing"]) == (3, 0)
    assert re.match(r"cell 3/3  .*supervised dim=8", rest.err)
    assert small == ["cora", "cora", "pubmed"]  # what was known is not run again
    assert sorted(os.listdir("results")) == ["authors.jsonl", "authors.md"]
    assert "Of 3 figures that authors report for their own methods: 0 agrees, 3 above" in Path(page).read_text()
    assert "signnap reproduce authors --device cpu" in Path("results/authors.jsonl").read_text()


def test_another_folder_and_a_cell_that_fails(small, command, monkeypatch):
    monkeypatch.setitem(FIGURES[1]["settings"], "dimm", 8)
    found = command("reproduce", "authors", "--results", "a/b", "--methods", "dgi", "--device", "cpu", "--json")
    assert (found.json["missing"], found.json["table"]) == (1, os.path.join("a/b", "authors.md"))
    assert "unknown parameter 'dimm'" in Path("a/b/authors.jsonl").read_text()
    assert "1 failed" in Path("a/b/authors.md").read_text()
    assert not Path("results").exists()


def test_ctrl_c(small, command, monkeypatch):
    def load(name):
        if name == "pubmed":
            raise KeyboardInterrupt
        return replace(GRAPH, name=name)

    monkeypatch.setattr(runner, "load_graph", load)
    stopped = command("reproduce", "authors", "--device", "cpu")
    assert stopped.code != 0 and "Traceback" not in stopped.err
    assert methods_in("results/authors.jsonl") == ["raw", "dgi"]


def test_help(command):
    usage = command("reproduce", "--help")
    assert usage.code == 0
    for option in ("--results", "--methods", "--graphs", "--jobs", "--limit", "--device", "--json"):
        assert option in usage.out
    assert "reproduce" in command("--help").out


def blocked_folder():
    Path("taken").write_text("not a folder")


def broken_rows():
    Path("results").mkdir()
    Path("results/authors.jsonl").write_text("nonsense\n")


def folder_of_that_name():
    Path("results/authors.jsonl").mkdir(parents=True)


#: name -> (what is done to the folder, further arguments, a pattern of the sentence)
CASES = {
    "target": (
        None,
        ("autors",),
        r"unknown target 'autors', did you mean 'authors'\? Known: authors, table-datasets, ",
    ),
    "method": (
        None,
        ("authors", "--methods", "raw,dgy"),
        r"unknown method 'dgy', did you mean 'dgi'\? Known: dgi, raw",
    ),
    "graph": (
        None,
        ("authors", "--graphs", "coraa,pubmed"),
        r"unknown graph 'coraa', did you mean 'cora'\? Known: cora",
    ),
    "a comma too many": (None, ("authors", "--graphs", "cora,"), r"unknown graph ''\. Known: cora, pubmed"),
    "no such cell": (
        None,
        ("authors", "--methods", "dgi,raw", "--graphs", "pubmed"),
        r"the table has no cell with dgi or raw on pubmed$",
    ),
    "a file for a folder": (
        blocked_folder,
        ("authors", "--results", "taken"),
        r"cannot write taken/authors\.jsonl: File exists; nothing was left half-written",
    ),
    "a folder for a file": (folder_of_that_name, ("authors",), r"cannot read results/authors\.jsonl: Is a directory"),
    "broken rows": (broken_rows, ("authors",), r"results/authors\.jsonl, line 1 is not a result of this program"),
    "device": (None, ("authors", "--device", "gpu"), r"device is 'gpu': expected auto, cpu or cuda"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_nothing_changed(case, small, fails):
    spoil, arguments, pattern = CASES[case]
    if spoil is not None:
        spoil()
    sentence = fails("reproduce", *arguments)
    assert re.match(pattern, sentence), sentence
    assert small == []


@pytest.mark.parametrize("arguments", [[], ["authors", "--jobs", "-1"], ["authors", "--limit", "soon"]])
def test_bad_usage(arguments, command):
    result = command("reproduce", *arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: " in result.err and "Traceback" not in result.err
