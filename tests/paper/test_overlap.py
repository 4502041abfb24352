"""Processes that train the same encoder seeds of a cell: no seed is lost, and none is reported twice."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signnap_paper.cells import Cell
from signnap_paper.report import each_accuracy
from signnap_paper.results import Results

CELL = Cell("dgi", "cora", looks=("silhouette",))


def block(*seeds, by=0.0, **more):
    """Make the row of a process for these seeds; every number encodes its seed and its process."""
    return {
        "device": "Fast One",
        "seeds": [*seeds],
        "seconds": 2.0 * len(seeds),
        "iterations": [100 + seed for seed in seeds],
        "test": [[seed + by] for seed in seeds],
        "val": [[seed - by] for seed in seeds],
        "looks": {"silhouette": [seed + by for seed in seeds]},
        **more,
    }


@pytest.fixture
def two(tmp_path):
    """Two processes that fill one file and have not read each other's rows."""
    return [Results(tmp_path / "rows.jsonl") for _ in range(2)]


def test_a_process_with_fewer_seeds_loses_no_seed_of_another(two):
    fewer, more = two
    more.add(CELL, block(*range(5)))
    fewer.add(CELL, block(*range(3), by=0.5))
    more.add(Cell("raw", "cora", looks=CELL.looks), block(0))
    for known in (fewer, more, Results(more.path)):
        assert known.find(CELL, 5) == {"cell": known.find(CELL, 5)["cell"], **block(*range(5))}


def test_only_new_seeds_of_a_process_with_more_seeds_are_kept(two):
    fewer, more = two
    fewer.add(CELL, block(0, 2, collapsed={"2": "stuck"}))
    more.add(CELL, block(*range(4), by=0.5, collapsed={"0": "constant", "3": "constant"}))
    for known in (more, Results(more.path)):
        found = known.find(CELL, 4)
        assert found["seeds"] == [0, 1, 2, 3] and found["iterations"] == [100, 101, 102, 103]
        assert found["test"] == [[0.0], [1.5], [2.0], [3.5]] and found["val"] == [[0.0], [0.5], [2.0], [2.5]]
        assert found["looks"] == {"silhouette": [0.0, 1.5, 2.0, 3.5]}
        assert found["collapsed"] == {"2": "stuck", "3": "constant"}
        assert found["seconds"] == 8.0 and {each["seconds"] for each in each_accuracy(known)} == {2.0}


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, unique=True), min_size=1, max_size=4), st.data())
@settings(max_examples=30)
def test_the_first_result_of_a_seed_is_kept(blocks, data):
    first = {}
    with tempfile.TemporaryDirectory() as folder:
        processes = [Results(Path(folder) / "rows.jsonl") for _ in range(2)]
        for number, seeds in enumerate(blocks):
            first = {seed: seed + number / 10 for seed in seeds} | first
            process = data.draw(st.sampled_from(processes))
            process.add(CELL, block(*seeds, by=number / 10))
        for known in (process, Results(process.path)):
            found = known.find(CELL, 6)
            assert dict(zip(found["seeds"], [mark for (mark,) in found["test"]], strict=True)) == first
            assert found["seeds"] == sorted(first) == sorted(seed for row in known for seed in row["seeds"])


def test_a_failure_of_one_process_keeps_results_of_another(two):
    first, other = two
    first.add(CELL, block(0, 1))
    other.add(CELL, {"seeds": [1, 2], "error": "MemoryError: "})
    first.add(CELL, block(0, 1, by=0.5))
    for known in (first, Results(first.path)):
        assert known.find(CELL, 3)["test"] == [[0.0], [1.0]] and known.missing([CELL], 3) == [(CELL, [2])]
        assert [row.get("error") for row in known] == [None, "MemoryError: "]
