"""``signnap reproduce``: tables made of rows in several commands, and one sentence for each error."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from signnap.data.synthetic import synthetic_graph
from signnap.errors import SignnapError
from signnap.evaluate import logistic, summarize
from signnap_paper import authors, runner
from signnap_paper import cli as reproduce
from signnap_paper.cells import BANNER, Cell
from signnap_paper.targets import Target

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows.jsonl"
GRAPH = synthetic_graph(nodes=240, communities=3, words=60)
SPLIT = "per-class:10:10"


def figure(method, graph, **settings):
    """Return an invented figure of zero, which every accuracy exceeds."""
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
    """A table of three cells on small graphs; the fixture is the list of loaded graphs."""
    names = []

    def load(name):
        names.append(name)
        return replace(GRAPH, name=name)

    monkeypatch.setattr(runner, "load_graph", load)
    monkeypatch.setattr(authors, "figures", lambda: FIGURES)
    monkeypatch.setattr(logistic, "GRID", (1.0,))
    return names


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (("--backbones", "gcn"), ["supervised", "signnap"]),  # that of the first is not stated
        (("--backbones", "jknet"), ["signnap"]),
        (("--methods", "signnap,raw", "--backbones", "gcn"), ["signnap"]),
        (("--methods", "raw"), ["raw"]),
    ],
)
def test_only_cells_that_are_named_are_run(small, monkeypatch, command, options, names):
    tiny = {"dim": 8, "iterations": 2}
    asked = [figure("raw", "cora"), figure("supervised", "cora", **tiny)]
    asked += [figure("signnap", "cora", **tiny, backbone=each) for each in ("gcn", "jknet")]
    monkeypatch.setattr(authors, "figures", lambda: asked)
    command("reproduce", "authors", *options, "--seeds", 1, "--device", "cpu")
    assert methods_in("results/rows.jsonl") == names


def rows_in(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def methods_in(path):
    return [*dict.fromkeys(row["cell"]["method"] for row in rows_in(path))]


def test_a_table_piece_by_piece(small, command):
    found = command(
        "reproduce", "authors", "--methods", "raw,supervised", "--graphs", "cora", "--device", "cpu", "--json"
    )
    page = os.path.join("results", "authors.md")
    made = {"target": "authors", "cells": 1, "missing": 0, "page": page}
    assert found.json == {"targets": [made], "rows": os.path.join("results", "rows.jsonl")}
    told, wrote = found.err.splitlines()
    assert re.fullmatch(r"cell 1/1  .* cells/min  0 s left  raw on cora", told) and wrote == f"wrote {page}"
    assert methods_in("results/rows.jsonl") == ["raw"]
    assert "*above* 1, *not run* 2." in Path(page).read_text()

    later = command("reproduce", "authors", "--device", "cpu", "--limit", 0)
    assert (later.code, later.out) == (0, "")
    assert later.err == f"wrote {page}; 2 of 3 cells are missing: run the same command again\n"
    assert small == ["cora"]

    rest = command("reproduce", "authors", "--device", "cpu", "--json")
    (made,) = rest.json["targets"]
    assert (made["cells"], made["missing"]) == (3, 0)
    assert re.match(r"cell 3/3  .*supervised dim=8", rest.err)
    assert small == ["cora", "cora", "pubmed"]  # what was known is not run again
    assert sorted(os.listdir("results")) == ["authors.md", "rows.jsonl"]
    assert "Verdicts on the 3 figures that authors report for their own methods: *above* 3." in Path(page).read_text()
    assert "signnap reproduce authors --device cpu" in Path("results/rows.jsonl").read_text()


def test_another_folder_and_a_cell_that_fails(small, command, monkeypatch):
    monkeypatch.setitem(FIGURES[1]["settings"], "dimm", 8)
    some = ("reproduce", "authors", "--results", "a/b", "--device", "cpu")
    found = command(*some, "--methods", "raw,dgi", "--json")
    page = os.path.join("a/b", "authors.md")
    assert found.json["targets"] == [{"target": "authors", "cells": 2, "missing": 1, "page": page}]
    why = "1 cell failed, the first is dgi dim=8 hidden=8 iterations=2 dimm=8 on cora: unknown parameter 'dimm'"
    assert found.err.splitlines()[-2] == f"wrote {page}; 1 of 2 cells are missing"
    assert found.err.splitlines()[-1].startswith(f"note: {why}")
    assert "unknown parameter 'dimm'" in Path("a/b/rows.jsonl").read_text()
    assert "*failed* 1" in Path("a/b/authors.md").read_text()
    assert not Path("results").exists()

    again = command(*some, "--methods", "raw,dgi", "--json")  # where nothing succeeds, the command fails
    assert again.code == 1 and json.loads(again.out) == found.json
    assert again.err.splitlines()[-1].startswith(f"error: {why}")
    assert command(*some, "--methods", "raw").code == 0  # nothing was left to do


def test_every_cell_fails(small, command, monkeypatch):
    def load(name):
        raise SignnapError(f"{name} is nowhere")

    monkeypatch.setattr(runner, "load_graph", load)
    result = command("reproduce", "authors", "--device", "cpu")
    assert (result.code, result.out) == (1, "")
    page = os.path.join("results", "authors.md")
    assert result.err.splitlines()[-2:] == [
        f"wrote {page}; 3 of 3 cells are missing",
        "error: 3 cells failed, the first is raw on cora: cora is nowhere",
    ]


def test_a_cell_twice_is_one(small, command, monkeypatch):
    monkeypatch.setattr("signnap_paper.cells.quickened", lambda cell: replace(cell, graph="cora", split=SPLIT))
    monkeypatch.setattr(authors, "figures", lambda: [figure("raw", "cora"), figure("raw", "pubmed")])
    result = command("reproduce", "authors", "--quick", "--device", "cpu", "--limit", 0)
    assert result.err.endswith("; 1 of 1 cells are missing: run the same command again\n")


def test_seeds(small, command):
    some = ("reproduce", "authors", "--methods", "dgi", "--device", "cpu")
    command(*some, "--seeds", 1)
    assert [row["seeds"] for row in rows_in("results/rows.jsonl")] == [[0]]
    command(*some)  # the target's own number, of which one is known
    rows = rows_in("results/rows.jsonl")
    assert [row["seeds"] for row in rows] == [[0], [1], [2]]
    found = [test for row in rows for (test,) in row["test"]]
    for count in (2, 3):
        command(*some, "--seeds", count)
        first = summarize(found[:count])
        assert f"| {first.mean:.1f} ± {first.std:.1f} |" in Path("results/authors.md").read_text()
    assert len(set(found)) > 1 and small == ["cora", "cora"]  # nothing was left to do


def test_a_quick_try(small, command):
    found = command("reproduce", "authors", "--quick", "--device", "cpu", "--json")
    page = os.path.join("results-quick", "authors.md")
    assert found.json["targets"] == [{"target": "authors", "cells": 3, "missing": 0, "page": page}]
    assert found.json["rows"] == os.path.join("results-quick", "rows.jsonl") and not Path("results").exists()
    text = Path(page).read_text()
    assert text.startswith(f"{BANNER}| method |") and not re.search(r"agrees|above|below", text)  # no verdict
    rows = rows_in("results-quick/rows.jsonl")
    assert [row["cell"]["method"] for row in rows] == ["raw", "dgi", "supervised"]
    assert [row["cell"]["probe"] for row in rows] == ["linear-quick", "linear-quick", "none"]
    assert [row["iterations"] for row in rows] == [[0], [1], [1]]
    assert {row["cell"]["probe_seeds"] for row in rows} == {1}
    more = command("reproduce", "authors", "--quick", "--seeds", 2, "--results", "mine", "--methods", "raw")
    assert more.err.endswith(f"wrote {os.path.join('mine', 'authors.md')}\n")
    assert [row["seeds"] for row in rows_in("mine/rows.jsonl")] == [[0], [1]]


def test_a_quick_try_is_no_result(small, command):
    command("reproduce", "authors", "--quick", "--results", "results", "--device", "cpu")
    small.clear()
    command("reproduce", "authors", "--methods", "raw", "--device", "cpu")
    assert small == ["cora"] and "**Quick run" not in Path("results/authors.md").read_text()


@pytest.fixture
def two(small, monkeypatch):
    """Two targets that share a cell; the second is a figure. Their pages show the seeds of each cell."""
    rules = {"split": SPLIT, "probe": "logistic", "probe_seeds": 1}
    raw, dgi = Cell("raw", "cora", **rules), Cell("dgi", "cora", FIGURES[1]["settings"], **rules)
    known = lambda results, cell, seeds: (results.find(cell, seeds) or {}).get("seeds")
    page = lambda cells: lambda results, seeds: " ".join(str(known(results, cell, seeds)) for cell in cells)
    table = Target(lambda: [raw], page([raw]), seeds=1)
    figure = Target(lambda: [raw, dgi], page([raw, dgi]), lambda results, seeds: f"drawn for {seeds}", seeds=2)
    targets = {"table": table, "figure": figure}
    monkeypatch.setattr(reproduce, "HOMES", {"authors": "", **targets})
    monkeypatch.setattr(reproduce, "find_target", targets.__getitem__)
    monkeypatch.setattr("signnap_paper.plots.save", lambda figure, stem: Path(f"{stem}.png").write_text(figure))
    return small


@pytest.mark.parametrize(("target", "code"), [("figure", 1), ("table", 0)])
def test_only_figures_need_matplotlib(target, code, two, command, monkeypatch):
    for name in {"matplotlib", *(name for name in sys.modules if name.split(".")[0] == "matplotlib")}:
        monkeypatch.setitem(sys.modules, name, None)
    result = command("reproduce", target, "--device", "cpu")
    assert result.code == code, result.err
    if code:
        assert (
            result.err == "error: figures need matplotlib, which is not installed: in a clone, pip install '.[paper]'\n"
        )
        assert not Path("results").exists() and two == []


@pytest.mark.parametrize("targets", [["all"], ["figure", "table"]], ids=" ".join)
def test_several(targets, two, command):
    found = command("reproduce", *targets, "--device", "cpu", "--json")
    page = lambda name: os.path.join("results", f"{name}.md")
    assert found.json == {
        "targets": [
            {"target": "table", "cells": 1, "missing": 0, "page": page("table")},
            {"target": "figure", "cells": 2, "missing": 0, "page": page("figure")},
        ],
        "rows": os.path.join("results", "rows.jsonl"),
    }
    rows = [(row["cell"]["method"], row["seeds"]) for row in rows_in("results/rows.jsonl")]
    assert rows == [
        ("raw", [0]),
        ("raw", [1]),
        ("dgi", [0]),
        ("dgi", [1]),
    ]  # both targets have the encoder that was trained once
    assert Path(page("table")).read_text() == "[0]"
    assert Path(page("figure")).read_text() == "![figure](figure.png)\n\n[0, 1] [0, 1]"
    assert Path("results/figure.png").read_text() == "drawn for 2"
    assert sorted(os.listdir("results")) == ["figure.md", "figure.png", "rows.jsonl", "table.md"]


def test_all_of_some_methods(two, command):
    found = command("reproduce", "all", "--methods", "raw", "--seeds", 1, "--device", "cpu", "--json")
    assert [made["cells"] for made in found.json["targets"]] == [1, 1]
    assert methods_in("results/rows.jsonl") == ["raw"] and "[0] None" in Path("results/figure.md").read_text()


def test_ctrl_c(small, command, monkeypatch):
    def load(name):
        if name == "pubmed":
            raise KeyboardInterrupt
        return replace(GRAPH, name=name)

    monkeypatch.setattr(runner, "load_graph", load)
    stopped = command("reproduce", "authors", "--device", "cpu")
    assert stopped.code != 0 and "Traceback" not in stopped.err
    assert methods_in("results/rows.jsonl") == ["raw", "dgi"]


def test_help(command):
    usage = command("reproduce", "--help")
    assert usage.code == 0
    for option in ("results", "methods", "graphs", "seeds", "quick", "jobs", "limit", "device", "json"):
        assert f"--{option}" in usage.out
    assert "default: (results)" in usage.out and "default: (the target's own)" in usage.out
    assert "reproduce" in command("--help").out


def blocked_folder():
    Path("taken").write_text("not a folder")


def broken_rows():
    Path("results").mkdir()
    Path("results/rows.jsonl").write_text("nonsense\n")


def folder_of_that_name():
    Path("results/rows.jsonl").mkdir(parents=True)


#: name -> (what is done to the folder, further arguments, a pattern of the sentence)
CASES = {
    "target": (
        None,
        ("autors",),
        r"unknown target 'autors', did you mean 'authors'\? Known: all, authors, cells, figure-dimensions, ",
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
    "a method elsewhere": (
        None,
        ("authors", "--methods", "raw,gca"),
        r"the target has no row of the method gca: expected dgi, raw, supervised$",
    ),
    "a graph elsewhere": (None, ("authors", "--graphs", "facebook"), r"the target has no row of the graph facebook: "),
    "a comma too many": (None, ("authors", "--graphs", "cora,"), r"unknown graph ''\. Known: cora, pubmed"),
    "no such cell": (
        None,
        ("authors", "--methods", "dgi,raw", "--graphs", "pubmed"),
        r"there is no cell with method dgi or raw and graph pubmed$",
    ),
    "a backbone": (None, ("authors", "--backbones", "gcm"), r"unknown backbone 'gcm', did you mean 'gcn'\? Known: gcn"),
    "a backbone elsewhere": (
        None,
        ("authors", "--backbones", "gat"),
        r"the target has no row of the backbone gat: expected gcn$",
    ),
    "no cell with a backbone": (
        None,
        ("authors", "--methods", "raw", "--backbones", "gcn"),
        r"there is no cell with method raw and backbone gcn$",
    ),
    "a file for a folder": (
        blocked_folder,
        ("authors", "--results", "taken"),
        r"cannot write taken/rows\.jsonl: File exists; nothing was left half-written",
    ),
    "a folder for a file": (folder_of_that_name, ("authors",), r"cannot read results/rows\.jsonl: Is a directory"),
    "broken rows": (broken_rows, ("authors",), r"results/rows\.jsonl, line 1 is not a result of this program"),
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


@pytest.mark.parametrize("options", [None, ["--jobs", "-1"], ["--limit", "soon"], ["--seeds", "0"]])
def test_bad_usage(options, command):
    arguments = [] if options is None else ["authors", *options]
    result = command("reproduce", *arguments)
    assert (result.code, result.out) == (2, "")
    assert "Usage: " in result.err and "Traceback" not in result.err


# -- what a command imports ------------------------------------------------------------------------------------------

IMPORTED = """
import sys
from signnap.cli import main
sys.argv = ["signnap", "reproduce", "table-sharing"]
try:
    main()
except SystemExit as end:
    assert not end.code
ours = [name for name in sys.modules if name.split(".")[0] in ("signnap", "signnap_paper")]
print(*ours)
"""


@pytest.mark.skipif(not ROWS.exists(), reason="there are no rows here")
def test_a_table_with_all_rows_imports_its_own_target_and_no_method(tmp_path):
    (tmp_path / "results").mkdir()
    shutil.copy(ROWS, tmp_path / "results")
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "missing" not in done.stderr, done.stderr
    names = done.stdout.split()
    rooms = {name.rpartition(".")[2] for name in names if name.startswith("signnap_paper.")}
    assert rooms == {
        "cells", "cli", "departures", "fidelity", "paper", "plots", "results", "summaries", "targets",
    }  # fmt: skip
    heavy = ("signnap.methods.base", "signnap.train.loop", "signnap.data.load", "signnap.encoders")
    assert not set(names) & set(heavy) and len(names) <= 50
