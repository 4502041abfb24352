"""The parts of a whole row: a row with anything else is refused in one sentence."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from made_rows import failed, looked, row

from signnap.errors import SignnapError
from signnap_paper.cells import Cell
from signnap_paper.measurements import MEASUREMENTS
from signnap_paper.results import NOT_WHOLE, SHAPES, Results, expect_whole

CELL = Cell("dgi", "cora", {"layers": 2}, looks=tuple(MEASUREMENTS))
MADE = {"resolved": {"layers": 2, "backbone": None}, "collapsed": {"1": "stuck"}, "revision": None, "signnap": "0.1.0"}
WHOLE = {"cell": asdict(CELL) | {"looks": [*MEASUREMENTS]}, **row([[70.0], [71.0]], looks=looked(CELL, 0.5, 2), **MADE)}
FAILED = {"cell": WHOLE["cell"], **failed()}
NAN, INFINITE = float("nan"), float("inf")

PARTS = {
    "cell": [3, None, [], {}, "dgi"],
    "test": [["a", "b"], [["a"], ["b"]], [70.0, 71.0], None, [], [[], []], [None, None], {"0": [1.0], "1": [1.0]},
             [[1e308], [70.0]], [[NAN], [70.0]], [[INFINITE], [70.0]], [[True], [70.0]], [[70.0]], "70",
             [[0.5, 10**400], [70.0]]],
    "seeds": [["0", "1"], "01", {"0": 1, "1": 2}, [0, 0], [-1, 0], [0.0, 1.0], [True, False], [], None, 2, [[0], [1]]],
    "iterations": [["7", "7"], [7], 7, None, [7.5, 7], [-1, 7]],
    "looks": [{"a": 1}, [], {}, None, 5, WHOLE["looks"] | {"a": [1, 2]}],
    "collapsed": [{"x": 1}, {"x": "stuck"}, {"5": "stuck"}, {"1": 1}, ["1"], [], None, "1"],
    "seconds": [NAN, INFINITE, -INFINITE, -1, "4", None, [4], True, 10**400],
    "device": ["", None, 5, ["Fast One"]],
    "resolved": [5, None, [], "layers", {"layers": [2]}],
    "revision": [5, ["one"]],
    "signnap": [0.1, {}],
    "peak_memory_mb": ["1", NAN, [], -1],
}  # fmt: skip
PARTS["val"] = PARTS["test"]


def refused(line):
    try:
        expect_whole(json.loads(json.dumps(line)))
    except NOT_WHOLE:
        return True
    return False


def test_rows_of_the_runner_are_whole():
    assert not refused(WHOLE) and not refused(FAILED) and set(SHAPES) == set(MEASUREMENTS)
    for name in (*MADE, "peak_memory_mb"):  # rows of an earlier version have none
        assert not refused({key: value for key, value in WHOLE.items() if key != name})


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_another_type_is_refused(part):
    assert [value for value in PARTS[part] if not refused(WHOLE | {part: value})] == []


@pytest.mark.parametrize("part", ["cell", "seeds", "seconds", "device", "iterations", "test", "val", "looks"])
def test_a_missing_part_is_refused(part):
    assert refused({key: value for key, value in WHOLE.items() if key != part})


@pytest.mark.parametrize("line", [None, 3, "row", [], [WHOLE], {}])
def test_a_line_that_is_no_row_is_refused(line):
    assert refused(line)


def test_a_failure_needs_seeds_and_an_error():
    assert all(refused(FAILED | {"error": value}) for value in (None, 5, ["MemoryError"]))
    assert all(refused(FAILED | {"seeds": value}) for value in PARTS["seeds"])


@pytest.mark.parametrize("field", WHOLE["cell"])
def test_a_missing_or_changed_field_of_a_cell_is_refused(field):
    cell = WHOLE["cell"]
    assert refused(WHOLE | {"cell": {name: value for name, value in cell.items() if name != field}})
    assert all(refused(WHOLE | {"cell": cell | {field: value}}) for value in (None, 0.5, [1], {"a": [1]}))


@pytest.mark.parametrize("look", SHAPES)
def test_a_measurement_of_another_shape_is_refused(look):
    found = WHOLE["looks"][look][0]
    odd = [5, "a", [], {}, [found], {"a": 1}] if isinstance(found, dict) else ["a", [], {}, 1e308, None]
    parts = found if isinstance(found, dict) else {}
    odd += [{**parts, name: value} for name in parts for value in (None, "a", [], ["a"], [NAN], [1.0], 1e308, {"a": 1})]
    odd += [{key: value for key, value in parts.items() if key != name} for name in parts]
    broken = lambda value: WHOLE | {"looks": WHOLE["looks"] | {look: [value, value]}}
    assert [value for value in odd if not refused(broken(value))] == []
    assert refused(WHOLE | {"looks": WHOLE["looks"] | {look: [found]}})


def test_a_method_that_does_not_train_has_empty_curves():
    empty = {"iteration": [], "train": [], "val": []}
    assert not refused(WHOLE | {"looks": WHOLE["looks"] | {"training-curves": [empty, None]}})


def test_a_measurement_may_be_nan():
    assert not refused(WHOLE | {"looks": WHOLE["looks"] | {"silhouette": [NAN, 0.5]}})


@pytest.mark.parametrize("nested", [b"[" * 100_000, b'{"cell": ' * 100_000])
def test_any_depth_of_nesting_is_refused_in_one_sentence(nested, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json.dumps(WHOLE).encode() + b"\n" + nested)
    with pytest.raises(SignnapError, match=r"rows\.jsonl, line 2 is not a result of this program"):
        Results(path)


def test_a_bad_row_is_named_by_its_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    Results(path).add(replace(CELL, looks=()), row([[70.0]]))
    path.write_text(path.read_text() + json.dumps(WHOLE | {"test": [70.0, 71.0]}))
    with pytest.raises(SignnapError) as error:
        Results(path)
    assert str(error.value) == f"{Path(path)}, line 2 is not a result of this program"
