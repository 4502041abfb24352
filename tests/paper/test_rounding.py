"""Encoders of one seed whose first weights differ by a rounding."""

import pytest
from made_rows import failed, row, tables_of

from signnap.methods.settings import resolve
from signnap_paper import fidelity, first_weights
from signnap_paper.paper import GRAPHS, cell
from signnap_paper.results import Results


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "rows.jsonl")


def add(results, name, graph, drawn, nudged, precision="tf32"):
    """Results with encoders of both kinds, each read by one probe."""
    for accuracies, changes in ((drawn, {}), (nudged, {"init": "nudged"})):
        if accuracies:
            results.add(cell(name, graph, precision=precision, **changes), row([[each] for each in accuracies]))


def tables(results, seeds=3):
    """Return the lines of both tables of a page, by their first fields."""
    summary, cells = tables_of(first_weights.ROUNDING.page(results, seeds))
    return {tuple(line[:2]): line[2:] for line in summary[1:]}, {tuple(line[:3]): line[3:] for line in cells[1:]}


def test_encoders_as_drawn_are_the_cells_of_other_pages():
    cells = {each.key: each for each in first_weights.ROUNDING.recipe()}
    others = [*fidelity.FIDELITY.recipe(), *(cell(*place, precision="float32") for place in fidelity.OUTSIDE)]
    drawn = [each for each in cells.values() if "init" not in each.settings]
    assert {each.key for each in drawn} == {each.key for each in others} and len(cells) == 2 * len(others)
    for each in drawn:
        nudged = [other for other in cells.values() if other.settings == each.settings | {"init": "nudged"}]
        assert each.graph in [other.graph for other in nudged]
        assert resolve({**nudged[0].settings, "init": "seed"}) == resolve(each.settings)


def test_a_seed_that_decides_all(results):
    add(results, "SIGNNAP(GAT)", "pubmed", [80.0, 81.0, 82.0], [80.0, 81.0, 82.0])
    summary, cells = tables(results)
    assert cells["SIGNNAP(GAT)", "pubmed", "tf32"] == ["81.00 ± 1.00", "81.00 ± 1.00", "1.00", "0.00", "0.00"]
    assert summary["SIGNNAP(GAT)", "tf32"] == ["1", "1.00", "0.00", "0 %"]


def test_a_seed_that_decides_nothing(results):
    """Two encoders of one seed are as far apart as those of two seeds."""
    add(results, "SIGNNAP(GCN)", "pubmed", [79.0, 81.0], [81.0, 79.0])
    summary, cells = tables(results)
    shown = cells["SIGNNAP(GCN)", "pubmed", "tf32"]
    assert shown == ["80.00 ± 1.41 (2 seeds)", "80.00 ± 1.41 (2 seeds)", "1.41", "1.41", "2.00"]
    assert summary["SIGNNAP(GCN)", "tf32"] == summary["all", "tf32"] == ["1", "1.41", "1.41", "100 %"]


def test_variances_are_pooled_by_backbone_and_products(results):
    add(results, "SIGNNAP(GCN)", "pubmed", [79.0, 81.0], [81.0, 79.0])  # variances of 2 and 2
    add(results, "SIGNNAP(GCN)", "facebook", [70.0, 74.0], [70.0, 74.0])  # 8 and 0
    add(results, "SIGNNAP(GAT)", "pubmed", [80.0, 84.0], [82.0, 82.0])  # 4 and 2
    add(results, "SIGNNAP(GCN)", "pubmed", [70.0, 78.0], [72.0, 76.0], "float32")  # 20 and 2
    summary, cells = tables(results, 2)
    assert summary["SIGNNAP(GCN)", "tf32"] == ["2", "2.24", "1.00", "20 %"]
    assert summary["SIGNNAP(GAT)", "tf32"] == ["1", "2.00", "1.41", "50 %"]
    assert summary["all", "tf32"] == ["3", "2.16", "1.15", "29 %"]
    assert summary["SIGNNAP(GCN)", "float32"] == summary["all", "float32"] == ["1", "4.47", "1.41", "10 %"]
    assert cells["SIGNNAP(GCN)", "pubmed", "float32"][2:] == ["4.47", "1.41", "2.00"]


def test_only_seeds_that_both_have_are_compared(results):
    add(results, "SIGNNAP(GCN)", "pubmed", [79.0, 81.0, 90.0], [81.0, 79.0])
    _, cells = tables(results)
    assert cells["SIGNNAP(GCN)", "pubmed", "tf32"][2:] == ["1.41", "1.41", "2.00"]


@pytest.mark.parametrize("nudged", [(), (80.0,)])
def test_too_few_encoders_give_no_summary(results, nudged):
    add(results, "SIGNNAP(GCN)", "pubmed", [79.0, 81.0], nudged)
    results.add(cell("SIGNNAP(GAT)", "pubmed", init="nudged"), failed())
    ((_, *lines),) = tables_of(first_weights.ROUNDING.page(results, 3))
    found = {tuple(line[:3]): line[3:] for line in lines}
    assert found["SIGNNAP(GCN)", "pubmed", "tf32"][2:] == ["–", "–", "–"]
    assert found["SIGNNAP(GAT)", "pubmed", "tf32"] == ["–", "failed", "–", "–", "–"]
    assert len(lines) == 5 * len(GRAPHS) + len(fidelity.OUTSIDE)


def test_encoders_that_agree_in_all(results):
    add(results, "SIGNNAP(GCN)", "pubmed", [80.0, 80.0], [80.0, 80.0])
    assert tables(results)[0]["all", "tf32"] == ["1", "0.00", "0.00", "–"]
