"""``table-start``: encoders that begin with the authors' weights beside those that do not."""

import pytest
from made_rows import row, table_of

from signnap.data.public import DATASETS
from signnap.methods.settings import resolve
from signnap_paper import first_weights
from signnap_paper.paper import GRAPHS, cell, reported
from signnap_paper.paper import SIGNNAP_ROWS as NAMES
from signnap_paper.results import Results


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "rows.jsonl")


def add(results, name, graph, alike=(), others=()):
    """Results with encoders at given distances from the paper's figure."""
    figure = reported()["overall"][name][graph][0]
    for apart, changes in ((alike, first_weights.start_changes(graph)), (others, {})):
        if apart:
            results.add(cell(name, graph, **changes), row([[figure + each] for each in apart]))


def line_of(page, name, graph):
    (line,) = (line for line in table_of(page) if line[:2] == [name, graph])
    return line


def test_every_encoder_of_the_paper():
    cells = first_weights.START.recipe()
    assert [(each.graph, each.settings["backbone"]) for each in cells] == [
        (graph, cell(name, graph).settings["backbone"]) for graph in GRAPHS for name in NAMES
    ]
    for each in cells:
        settings = resolve(each.settings, dataset=each.graph)
        assert settings.authors_classes == DATASETS[each.graph].classes
        assert resolve({**each.settings, "init": "seed"}, dataset=each.graph).authors_classes is None


def test_both_kinds_of_encoders_stand_beside_the_figure(results):
    add(results, "SIGNNAP(GCN)", "pubmed", alike=[-1, 0.5], others=[-3, -1])
    add(results, "SIGNNAP(GAT)", "pubmed", alike=[1, 2], others=[-2, -1])
    add(results, "SIGNNAP(JKNet)", "pubmed", others=[-1, 1])
    page = first_weights.START.page(results, 2)
    assert "The figures of 1 of 2 cells (30 in all) lie within" in page and "\n0.7 are expected" in page
    assert "Both kinds together" not in page  # there are cells without any
    assert line_of(page, "SIGNNAP(GCN)", "pubmed")[3:] == [
        "80.34", "81.09", "81.84", "2", "inside", "+0.19", "79.34", "1.00 above",
    ]  # fmt: skip
    assert line_of(page, "SIGNNAP(GAT)", "pubmed")[7:] == ["1.00 below", "-1.73", "79.43", "1.00 above"]
    assert line_of(page, "SIGNNAP(JKNet)", "pubmed")[3:] == ["–", "–", "–", "–", "not run", "–", "80.82", "inside"]


def test_figures_among_all_encoders_are_counted(results):
    results.write = lambda: None
    for name in NAMES:
        for graph in GRAPHS:
            apart = {"SIGNNAP(GAT)": ([1, 2], [2, 3, 4]), "SIGNNAP(GCN)": ([1], [-1])}.get(name, ((), [-1, 1]))
            if (name, graph) != ("SIGNNAP(GAT)", "pubmed"):
                add(results, name, graph, *apart)
    add(results, "SIGNNAP(GAT)", "pubmed", [-1], [-2, -3, -3, -4])
    page = " ".join(first_weights.START.page(results, 5).split())
    # the figure is between two encoders of every cell, but outside of all six of GAT's
    assert "24 of 30 figures lie within the range of the first 2 encoders of their cell; 10.0 are expected" in page
    assert "24 lie within the range of all encoders of their cell. Cells whose figure was outside have up to 5 " in page
    assert "with 5 in every cell, at least as many figures would lie inside, and 20.0 are expected." in page


def test_more_encoders_of_one_cell_count_among_all_alone(results):
    results.write = lambda: None
    for name in NAMES:
        for graph in GRAPHS:
            add(results, name, graph, others=[1, 2, -1] if (name, graph) == ("SIGNNAP(GCN)", "facebook") else [-1, 1])
    page = " ".join(first_weights.START.page(results, 5).split())
    assert "29 of 30 figures lie within the range of the first 2" in page and "30 lie within the range of all" in page


def test_what_the_first_weights_do(results):
    add(results, "SIGNNAP(GCN)", "pubmed", alike=[-1, 1], others=[-6, -2, 20])
    add(results, "SIGNNAP(GAT)", "pubmed", alike=[1, 3], others=[-4, 0, 10])
    add(results, "SIGNNAP(JKNet)", "pubmed", alike=[2, 5], others=[1, 1 + 6, -17])
    page = " ".join(first_weights.START.page(results, 3).split())
    # variances of 2, 2 and 4.5 beside those of as many others, 8, 8 and 18
    assert (
        "the same first weights have 0.25 times the variance of as many others (0.25 to 0.25" in page
        and "3 cells" in page
    )
    # by (-4, 0, 6.5) and (-4, -2, 3), from means of the others of 4, 2 and -3
    assert (
        "are +0.83 ± 3.06 points above the mean of the others on average over cells, and the paper is -1.00 ± 2.08"
        in page
    )
    assert "The correlation of the two is +0.99." in page


@pytest.mark.parametrize("cells", [0, 1])
def test_too_few_encoders_give_no_summary(results, cells):
    for name in NAMES[:cells]:
        add(results, name, "pubmed", alike=[0, 1], others=[1, 2])
    assert "variance" not in first_weights.START.page(results, 2)
