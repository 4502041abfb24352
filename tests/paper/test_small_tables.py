"""The paper's tables of data sets and of perturbations."""

import pytest
from made_rows import failed, row, table_of

from signnap.methods.settings import resolve
from signnap_paper import tables
from signnap_paper.paper import GRAPHS, reported
from signnap_paper.results import Results


def test_every_perturbation_of_the_paper():
    assert list(tables.PERTURBED) == list(reported()["perturbations"])
    cells = tables.PERTURBATIONS.recipe()
    assert len({cell.key for cell in cells}) == len(cells) == 7 * 6
    drawn = {
        name: resolve(tables.perturbed_cell(name, "pubmed").settings, dataset="pubmed") for name in tables.PERTURBED
    }
    assert {name: (s.drop_edge, s.noise) for name, s in drawn.items()} == {
        "DropEdge": (0.3, "none"), "Gaussian": (0.0, "gaussian:0.01"), "Laplace": (0.0, "laplace:0.01"),
        "Uniform": (0.0, "uniform:0.01"), "DropEdge+Gaussian": (0.3, "gaussian:0.01"),
        "DropEdge+Laplace": (0.3, "laplace:0.01"), "DropEdge+Uniform": (0.3, "uniform:0.01"),
    }  # fmt: skip


def test_the_table_of_perturbations(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    results.add(tables.perturbed_cell("Laplace", "facebook"), row([[70.0, 72.0], [73.0, 73.0]]))
    results.add(tables.perturbed_cell("Laplace", "pubmed"), failed())
    lines = table_of(tables.PERTURBATIONS.page(results, 2))
    assert lines[0] == ["perturbation", *GRAPHS] and len(lines) == 1 + 2 * 7
    at = next(number for number, line in enumerate(lines) if line[0] == "Laplace")
    assert lines[at][1:4] == ["failed", "72.00 ± 1.41", "–"]
    assert lines[at + 1][:3] == ["the paper", "76.98", "71.22"]


@pytest.mark.data
def test_the_table_of_data_sets(raw_data, monkeypatch, tmp_path):
    monkeypatch.setenv("SIGNNAP_DATA", str(raw_data))
    monkeypatch.setenv("SIGNNAP_CACHE", str(tmp_path))
    monkeypatch.setattr(tables, "GRAPHS", ("pubmed", "amazon_photo"))
    _, pubmed, photo = table_of(tables.datasets_page())
    assert pubmed == ["pubmed", "19,717", "44,324", "0.01 %", "3", "500", "0.30 %", "60", "500", "1,000"]
    assert photo[:5] == ["amazon_photo", "7,650", "119,081", "0.20 %", "8"]
    assert photo[6:] == ["2.09 %", "160", "240", "7,250"]


def test_counts_that_differ_are_shown():
    pairs = [(10, 10), (10, "rest"), (1000, 1200), (0.304, 0.3), (0.356, 0.35)]
    texts = ["10", "10", "1,000 (1,200)", "0.30 %", "0.36 % (0.35 %)"]
    assert [tables.beside(*pair) for pair in pairs] == texts
