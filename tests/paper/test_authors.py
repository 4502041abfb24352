"""The table of reported figures: each can be run, its verdict is right, and the page shows the rows."""

import re
from pathlib import Path

import pytest
from made_rows import failed, row

from signnap import method_class
from signnap.data.public import DATASETS
from signnap.data.splits import make_split
from signnap.data.synthetic import synthetic_graph
from signnap.evaluate import PROBES, summarize
from signnap.methods.settings import resolve
from signnap_paper import authors
from signnap_paper.results import Results

ROOT = Path(__file__).resolve().parents[2]
FIGURES = authors.figures()
NEEDED, ALLOWED = {"method", "graph", "settings", "split", "probes", "mean", "own", "source"}, {"std"}


def named(figure):
    return f"{figure['method']}-{figure['graph']}"


@pytest.fixture(scope="module")
def labelled():
    return synthetic_graph()


@pytest.mark.parametrize("figure", FIGURES, ids=named)
def test_every_figure_can_be_run(figure, labelled):
    assert NEEDED <= figure.keys() <= NEEDED | ALLOWED
    assert 0 < figure["mean"] < 100 and 0 < figure.get("std", 1) < 10
    assert figure["source"] and not re.search(r"[|\n]", figure["source"])  # it stands in a table
    cell, method = authors.figure_cell(figure, figure["probes"][0]), method_class(figure["method"])
    assert cell.graph in DATASETS
    settings = resolve({**cell.settings, "method": cell.method}, dataset=cell.graph)
    method(**cell.settings)
    if cell.split == "public":
        assert DATASETS[cell.graph].family == "planetoid"  # the others come without one
    else:
        assert make_split(labelled, cell.split).name == cell.split
    assert (cell.probe == "none") if method.uses_labels else (cell.probe in PROBES)
    # Whoever learns labels learns those of this split; the others see the whole graph.
    assert settings.split == (cell.split if method.uses_labels else "none")
    assert cell.redrawn == (cell.split.startswith("random:") and not method.uses_labels)


def test_no_figure_is_listed_twice():
    seen = [(f["method"], sorted(f["settings"].items()), f["graph"], f["split"], f["own"]) for f in FIGURES]
    assert [figure for figure in seen if seen.count(figure) > 1] == []


@pytest.mark.parametrize(
    ("ours", "std", "word"),
    [
        (80.0, None, "agrees"), (81.0, None, "agrees"), (79.0, None, "agrees"), (81.125, None, "above"),
        (78.875, None, "below"), (81.0, 0.5, "agrees"), (81.125, 0.5, "above"), (82.5, 2.5, "agrees"),
        (77.5, 2.5, "agrees"), (82.625, 2.5, "above"), (77.375, 2.5, "below"),
    ],
)  # fmt: skip
def test_verdicts(ours, std, word):
    figure = {"mean": 80.0} | ({} if std is None else {"std": std})
    assert authors.compare(summarize([ours - 5, ours + 5]), figure) == word  # our own spread excuses nothing


# -- the table -------------------------------------------------------------------------------------------------------


def figure(graph, mean, own, **more):
    common = {
        "method": "dgi",
        "settings": {"layers": 1},
        "split": "public",
        "probes": ["logistic"],
        "source": "a paper",
    }
    return {**common, "graph": graph, "mean": mean, "own": own, **more}


FEW = [
    figure("cora", 80.0, True, std=0.5),
    figure("cora", 70.0, False),
    figure("citeseer", 60.0, True),
    figure("pubmed", 85.0, True),
    figure("amazon_photo", 90.0, True, split="random:0.1:0.1"),
    figure("coauthor_cs", 90.0, True, split="random:0.1:0.1"),
    figure("amazon_computers", 80.0, False, split="random:0.1:0.1"),
]


def cells_of(text):
    """Return the sentence above a table, and its rows by column name."""
    head, empty, columns, _, *lines = text.splitlines()
    assert empty == ""
    fields = lambda line: line.removeprefix("| ").removesuffix(" |").split(" | ")
    return head, [dict(zip(fields(columns), fields(line), strict=True)) for line in lines]


@pytest.fixture
def few(monkeypatch, tmp_path):
    """A table of few figures, some of which were run."""
    monkeypatch.setattr(authors, "figures", lambda: FEW)
    results = Results(tmp_path / "rows.jsonl")
    for number, test in {0: [[79.0, 81.0], [81.0, 83.0]], 2: [[65.0]], 3: [[80.0], [82.0]], 6: [[80.0]]}.items():
        results.add(authors.figure_cell(FEW[number], "logistic"), row(test))
    results.add(authors.figure_cell(FEW[4], "logistic"), failed())
    return results


def test_every_cell_is_run_once(few):
    cells = [authors.figure_cell(figure, "logistic") for figure in FEW]
    assert cells[0] == cells[1]  # what the authors found, and what others did
    assert authors.AUTHORS.recipe() == cells[1:]


def test_the_table(few):
    _, rows = cells_of(authors.AUTHORS.page(few, 2))
    assert [row["verdict"] for row in rows] == ["agrees", "above", "above", "below", "failed", "not run", "agrees"]
    assert [row["graph"] for row in rows] == [each["graph"] for each in FEW]
    first = rows[0]  # the mean of each encoder's probes, then over encoders
    assert (first["method"], first["split"], first["probe"]) == ("dgi, layers 1", "public", "logistic")
    assert (first["ours"], first["reported"], first["device, s"]) == ("81.0 ± 1.4", "80.0 ± 0.5", "Fast One, 4")
    assert [float(row["difference"]) for row in rows[:4]] == [1.0, 11.0, 5.0, -4.0]
    assert (rows[4]["ours"], rows[5]["ours"]) == ("–", "–")
    assert [row["source"] for row in rows[:2]] == ["a paper", "not the authors': a paper"]


def test_the_sentence_counts_own_figures_only(few):
    head, _ = cells_of(authors.AUTHORS.page(few, 2))
    counted = "*agrees* 1, *above* 1, *below* 1, *failed* 1, *not run* 1"
    assert head == f"Verdicts on the 5 figures that authors report for their own methods: {counted}."


def test_cells_without_rows_are_not_run(few, tmp_path):
    head, rows = cells_of(authors.AUTHORS.page(Results(tmp_path / "none.jsonl"), 2))
    assert {row["verdict"] for row in rows} == {"not run"} and "*not run* 5." in head
    _, rows = cells_of(authors.AUTHORS.page(few, 1))  # the first encoder alone
    assert (rows[0]["ours"], rows[3]["ours"]) == ("80.0", "80.0")


def test_the_page_shows_the_rows():
    path = ROOT / "results" / "rows.jsonl"
    if not path.exists():
        pytest.skip("there are no rows here: signnap reproduce authors makes them")
    page = (ROOT / "docs" / "methods.md").read_text("utf-8")
    (shown,) = re.findall("<!-- authors: begin -->\n(.*?)<!-- authors: end -->", page, re.DOTALL)
    assert shown.strip() == authors.AUTHORS.page(Results(path), authors.AUTHORS.seeds).strip(), (
        "put results/authors.md between the markers"
    )
