"""Rows without training, and a parser for the tables of pages."""

import re

from signnap import method_class

TWO = [[70.0, 72.0], [73.0, 73.0]]  # two encoders of two probes …
SHOWN = "72.00 ± 1.41"  # … and how a page shows them


def row(test, **more):
    """Make the row that the runner writes for encoder seeds 0, 1, … with this test accuracy in %, probe by probe."""
    seeds = len(test)
    common = {"seeds": [*range(seeds)], "seconds": 4.4, "iterations": [7] * seeds, "val": test, "device": "Fast One"}
    return {**common, "test": test, **more}


def failed(seeds=2):
    return {"seeds": [*range(seeds)], "error": "MemoryError: "}


def settings_of(cell):
    return method_class(cell.method)(**cell.settings).settings_for(cell.graph)


def tables_of(page):
    """Return every table of a page as lists of fields, and check that each is well formed."""
    blocks = [block.splitlines() for block in re.split(r"\n\s*\n", page) if block.startswith("|")]
    assert sum(map(len, blocks)) == page.count("\n|") + page.startswith("|"), "a table begins amid a paragraph"
    tables = []
    for lines in blocks:
        assert all(line.startswith("| ") and line.endswith(" |") for line in lines), lines
        header, rule, *rows = (line[2:-2].split(" | ") for line in lines)
        assert rule == ["---"] * len(header) and len(set(header)) == len(header)
        assert {len(fields) for fields in rows} <= {len(header)}
        tables.append([header, *rows])
    return tables


def table_of(page):
    """Return the only table of a page."""
    (table,) = tables_of(page)
    return table


def leaves(value):
    """Return the numbers in nested lists and dictionaries."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [] if value is None else [value]


def looked(cell, value, seeds):
    """Make the measurements of a cell, one for every seed; all their numbers follow from ``value``."""
    curve = {"iteration": [1, 11, 21], "train": [value] * 3, "val": [value] * 3}
    found = {
        "spread": {"distance": value, "relative_distance": value + 1, "effective_rank": value + 2},
        "map": {"x": [0.0, 1.0, value], "y": [1.0, 0.0, value], "class": [0, 1, 2]},
        "silhouette": value,
        "probe-curves": curve,
        "training-curves": curve,
        "stability": {"matrix": [[1.0, value], [value, 1.0]], "mean": value, "centred": value / 2},
    }
    return {name: [found[name], *[None if name == "map" else found[name]] * (seeds - 1)] for name in cell.looks}
