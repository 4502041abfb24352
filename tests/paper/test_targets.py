"""One contract for all targets: their cells can be run, and their pages show the results of these."""

from math import inf

import pytest
from made_rows import failed, looked, row, tables_of

from signnap import method_class
from signnap.data.public import DATASETS
from signnap.errors import SignnapError
from signnap.evaluate import PROBES
from signnap.methods.settings import resolve
from signnap_paper import sweeps, tables
from signnap_paper.cells import BANNER, QUICK_ITERATIONS, quickened
from signnap_paper.measurements import MEASUREMENTS
from signnap_paper.paper import reported
from signnap_paper.results import Results
from signnap_paper.targets import HOMES, Target, find_target

every_target = pytest.mark.parametrize("name", HOMES)
#: They are made of the graphs, or of the cells of other targets.
WITHOUT_CELLS = {"table-datasets", "figure-ranks", "cells", "reproduction"}


@pytest.fixture(autouse=True)
def _no_data(monkeypatch):
    """Replace the counts of graphs by the paper's, because counting needs files that may be missing."""
    known = reported()["datasets"]
    counted = lambda name: {what: 0 if count == "rest" else count for what, count in known[name].items()}
    monkeypatch.setattr(tables, "counts", counted)


def test_every_target_is_found_and_no_other():
    assert all(isinstance(find_target(name), Target) for name in HOMES)
    with pytest.raises(SignnapError, match="unknown target 'table-overal', did you mean 'table-overall'"):
        find_target("table-overal")


# -- cells -------------------------------------------------------------------------------------------------------------


@every_target
def test_every_cell_can_be_run(name):
    cells = find_target(name).recipe()
    assert len({cell.key for cell in cells}) == len(cells) and bool(cells) == (name not in WITHOUT_CELLS)
    for cell in cells:
        method = method_class(cell.method)
        assert cell.graph in DATASETS
        settings = method(**cell.settings).settings_for(cell.graph)
        assert cell.probe == "none" if method.uses_labels else cell.probe in PROBES
        assert not method.uses_labels or settings.split.removeprefix("inductive:") == cell.split
        assert set(cell.looks) <= set(MEASUREMENTS)
        assert method.uses_labels or "training-curves" not in cell.looks
        assert not method.uses_labels or "probe-curves" not in cell.looks


@every_target
def test_every_cell_can_be_tried_quickly(name):
    for cell in find_target(name).recipe():
        quick = quickened(cell)
        settings = resolve({**quick.settings, "method": quick.method}, dataset=quick.graph)
        full = resolve({**cell.settings, "method": cell.method}, dataset=cell.graph)
        kind = method_class(cell.method)
        assert settings.iterations == (QUICK_ITERATIONS if kind.trains else full.iterations) <= full.iterations
        assert quick.probe == ("none" if kind.uses_labels else "linear-quick")
        assert (quick.probe_seeds, quick.looks, quick.split) == (1, cell.looks, cell.split)
        assert quick.key != cell.key and quickened(quick) == quick


def test_a_quick_try_is_short_and_has_a_banner():
    assert QUICK_ITERATIONS == 1 and "one iteration" in BANNER and BANNER.endswith("\n\n")
    full, short = PROBES["linear"], PROBES["linear-quick"]
    assert short.epochs <= full.epochs / 10


# -- pages -------------------------------------------------------------------------------------------------------------


@every_target
def test_a_page_without_rows(name, tmp_path):
    page = find_target(name).page(Results(tmp_path / "rows.jsonl"), 2)
    assert tables_of(page) and page.endswith("|\n") and not page.startswith("\n")
    assert all(len(table) > 1 for table in tables_of(page)) or name == "cells"
    assert "–" in page or name == "table-datasets"
    assert not (tmp_path / "rows.jsonl").exists()


def value_of(number):
    """Return the accuracy of a cell, different for every cell."""
    return 10.0 + number / 2


def filled(cells, path):
    """Results with two seeds of every cell; the mean identifies the cell."""
    results = Results(path)
    results.write = lambda: None  # nobody reads them again
    for number, cell in enumerate(cells):
        value = value_of(number)
        accuracies, looks = [[value - 1], [value + 1]], looked(cell, value / 1000, 2)
        results.add(cell, row(accuracies, val=[[value - 0.75], [value + 1.25]], looks=looks))
    return results


#: How a page shows a cell, where it is not by its test accuracy.
SHOWN = {
    "authors": lambda value: f"| {value:.1f} ± 1.4 |",
    "table-fidelity": lambda value: f"| {value - 1:.2f} | {value:.2f} | {value + 1:.2f} | 2 |",
    "table-seeds": lambda value: f"| {value - 1:.2f} | {value:.2f} | {value + 1:.2f} | 2 |",
    "table-start": lambda value: f"| {value - 1:.2f} | {value:.2f} | {value + 1:.2f} | 2 |",
    "table-sharing": lambda value: f"{value + 0.25:.2f} ± 1.41",
    "table-grid": lambda value: f"{value + 0.25:.2f} ± 1.41",
    "figure-stability": lambda value: f"| {value / 1000:.3f} ± 0.000",
    "figure-tsne": lambda value: f"| {value / 1000:.4f} ± 0.0000",
}


@every_target
def test_a_page_shows_every_cell(name, tmp_path):
    cells = find_target(name).recipe()
    results = filled(cells, tmp_path / "rows.jsonl")
    page = find_target(name).page(results, 2)
    assert tables_of(page)
    shown = SHOWN.get(name, lambda value: f"{value:.2f} ± 1.41")
    assert [str(cell) for number, cell in enumerate(cells) if shown(value_of(number)) not in page] == []
    assert "(2 seeds)" not in page
    with_a_column = {"table-fidelity", "table-seeds", "table-start"}
    if name not in {"authors", *with_a_column, *WITHOUT_CELLS}:
        assert find_target(name).page(results, 3).count("(2 seeds)") >= len(cells)
        assert find_target(name).page(results, 1).count("(1 seed)") == 0


@every_target
def test_a_page_of_failures(name, tmp_path):
    cells = find_target(name).recipe()
    results = Results(tmp_path / "rows.jsonl")
    results.write = lambda: None
    for cell in cells:
        results.add(cell, failed())
    page = find_target(name).page(results, 2)
    assert tables_of(page) and page.count("failed") >= len(cells)


def test_a_page_begins_with_its_title_and_its_picture():
    page = lambda results, seeds: f"{results} of {seeds}\n"
    plain, drawn = Target(list, page), Target(list, page, figure=lambda results, seeds: inf)
    assert plain.text("table-x", "rows", 3) == "rows of 3\n"
    titled = Target(list, page, figure=drawn.figure, title="On x")
    assert titled.text("figure-x", "rows", 3) == "# On x\n\n![figure-x](figure-x.png)\n\nrows of 3\n"
    assert drawn.text("figure-x", "rows", 3) == "![figure-x](figure-x.png)\n\nrows of 3\n"


def test_a_quick_try_is_as_wide_as_its_cell_says():
    tried = [quickened(sweeps.width_cell("DGI", "pubmed", dim)).settings for dim in (64, 256)]
    assert [(settings["dim"], settings["hidden"]) for settings in tried] == [(64, 64), (256, 256)]
    assert quickened(sweeps.width_cell("DGI", "pubmed", 512)).settings["dim"] == 32  # says nothing
