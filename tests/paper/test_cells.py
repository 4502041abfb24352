"""Cells are values: equal cells have equal keys, and JSON preserves them."""

import json
from dataclasses import asdict, replace

from hypothesis import given
from hypothesis import strategies as st

from signnap_paper.cells import Cell

RAW, DGI = Cell("raw", "synthetic"), Cell("dgi", "synthetic", {"dim": 8, "iterations": 3}, split="per-class:5:5")
NAMES = st.text(max_size=5)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.booleans(), NAMES, st.lists(NAMES, max_size=3))
def test_equal_cells_have_equal_keys_and_survive_json(settings, redrawn, split, looks):
    cell = Cell("dgi", "cora", settings, split=split, redrawn=redrawn, looks=tuple(looks))
    backwards = replace(cell, settings=dict(reversed(settings.items())))
    again = Cell(**json.loads(json.dumps(asdict(cell))))
    assert again == cell == backwards
    assert again.key == cell.key == backwards.key
    assert "\n" not in cell.key
    assert again.looks == tuple(looks)  # JSON knows lists only


CHANGES = {
    "method": "raw", "graph": "cora", "settings": {"dim": 9, "iterations": 3}, "split": "paper", "redrawn": True,
    "probe": "logistic", "dropped": True, "probe_seeds": 1, "looks": ("map",),
}  # fmt: skip


def test_cells_that_differ_in_any_field_have_different_keys():
    assert CHANGES.keys() == asdict(DGI).keys()
    keys = {replace(DGI, **{name: value}).key for name, value in CHANGES.items()}
    assert len(keys | {DGI.key}) == len(CHANGES) + 1


def test_a_cell_in_words():
    assert (str(RAW), str(DGI)) == ("raw on synthetic", "dgi dim=8 iterations=3 on synthetic")
