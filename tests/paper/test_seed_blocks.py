"""Encoder seeds of one cell that were trained at different times become one row, in the order of the seeds."""

import json
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap_paper.cells import Cell
from signnap_paper.results import Results

CELL = Cell("dgi", "cora", looks=("silhouette", "map"))
MAP = {"x": [1.0], "y": [2.0], "class": [0]}


def block(*seeds, **more):
    """Make a row for these seeds; every number encodes its seed."""
    return {
        "seeds": [*seeds],
        "seconds": float(len(seeds)),
        "device": "Fast One",
        "iterations": [100 + seed for seed in seeds],
        "test": [[seed + 0.25, seed + 0.5] for seed in seeds],
        "val": [[seed + 0.75] for seed in seeds],
        "looks": {"silhouette": [*seeds], "map": [None if seed else MAP for seed in seeds]},
        **more,
    }


FAILED = {"error": "MemoryError: "}


def filled(path, *blocks, cell=CELL):
    results = Results(path)
    for each in blocks:
        results.add(cell, each)
    return results


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_blocks_merge_in_the_order_of_seeds(path):
    results = filled(path, block(3, 1, date="first"), block(4), block(0, 2, date="last"))
    assert path.read_text().count("\n") == 3
    for known in (results, Results(path)):
        found = known.find(CELL, 5)
        assert {name: found[name] for name in block()} == block(0, 1, 2, 3, 4)
        assert found["date"] == "first"


@given(st.permutations(range(6)), st.sets(st.integers(1, 5)), st.integers(0, 7), st.data())
@settings(max_examples=30)
def test_any_blocks_in_any_order_give_the_same_row(order, cuts, asked, data):
    ends = [0, *sorted(cuts), 6]
    blocks = [block(*order[a:b]) for a, b in pairwise(ends)]
    blocks = data.draw(st.permutations(blocks))
    with tempfile.TemporaryDirectory() as folder:
        results = filled(Path(folder) / "rows.jsonl", *blocks)
        again = Results(results.path)
    for known in (results, again):
        found, whole = known.find(CELL, asked), block(*range(min(asked, 6)))
        if not asked:
            assert found is None
            continue
        assert {name: found[name] for name in whole if name != "seconds"} == {
            name: value for name, value in whole.items() if name != "seconds"
        }
        assert found["seconds"] == pytest.approx(min(asked, 6))
        assert known.missing([CELL], asked) == ([(CELL, [6])] if asked == 7 else [])


def test_only_the_first_seeds_are_asked_for(path):
    results = filled(path, block(0, 1, 2), block(3, 4))
    assert [results.find(CELL, count)["seeds"] for count in (1, 3, 4, 9)] == [[0], [0, 1, 2], [0, 1, 2, 3], [*range(5)]]
    assert [results.find(CELL, count)["seconds"] for count in (1, 3, 4)] == [1.0, 3.0, 4.0]
    assert filled(path.with_name("other"), block(5, 6)).find(CELL, 5) is None


def test_missing_cells_are_those_that_lack_seeds(path):
    results, other = filled(path, block(0, 1), block(4)), replace(CELL, graph="pubmed")
    assert results.missing([CELL, other, CELL], 6) == [(CELL, [2, 3, 5]), (other, [*range(6)])]
    assert results.missing([CELL], 2) == results.missing([CELL], 1) == []


def test_a_failure_beside_successes(path):
    results = filled(path, block(0, 1), {"seeds": [2, 3], **FAILED})
    for known in (results, Results(path)):
        assert known.find(CELL, 4)["seeds"] == [0, 1] and "error" not in known.find(CELL, 4)
        assert known.missing([CELL], 4) == [(CELL, [2, 3])]
    results.add(CELL, block(2, 3))
    assert results.find(CELL, 4)["test"] == block(0, 1, 2, 3)["test"] and results.missing([CELL], 4) == []
    assert "error" not in path.read_text()  # it is in its place


def test_only_failures(path):
    results = filled(path, {"seeds": [0, 1], "error": "first"}, {"seeds": [2], "error": "second"})
    assert results.find(CELL, 2)["error"] == "second"
    assert [json.loads(line)["error"] for line in path.read_text().splitlines()] == ["second"]


def test_new_results_do_not_replace_known_ones(path):
    results = filled(path, block(0, 1), block(2), block(1, 3, val=[[9.0], [9.0]]))
    assert results.find(CELL, 4)["seeds"] == [0, 1, 2, 3]
    assert results.find(CELL, 4)["val"] == [[0.75], [1.75], [2.75], [9.0]]


def test_cells_without_measurements_have_none(path):
    plain, cell = replace(CELL, looks=()), {name: value for name, value in block(0).items() if name != "looks"}
    assert "looks" not in filled(path, cell, cell=plain).find(plain, 1)


def test_a_rule_replaces_the_cells_that_are_asked_for(path):
    rule = lambda cell: replace(cell, graph="tiny", probe_seeds=1)
    ruled, tiny = Results(path, rule), rule(CELL)
    assert ruled.missing([CELL, replace(CELL, graph="pubmed")], 1) == [(tiny, [0])]  # both are one to it
    ruled.add(tiny, block(0))
    assert ruled.find(CELL, 1) == ruled.find(tiny, 1) and ruled.find(CELL, 1)["test"] == [[0.25, 0.5]]
    assert ruled.missing([CELL], 1) == []
    plain = Results(path)
    assert plain.find(CELL, 1) is None and plain.missing([CELL, tiny], 1) == [(CELL, [0])]
    assert plain.find(tiny, 1)["cell"]["graph"] == "tiny"
