"""The paper's main table: its cells, both protocols, ranks, and the paper's numbers beside ours."""

import pytest
from made_rows import failed, row, table_of

from signnap import method_class
from signnap.evaluate import summarize
from signnap.methods.settings import resolve
from signnap.registry import METHODS
from signnap_paper import paper, tables
from signnap_paper.paper import GRAPHS, ROWS, cell, reported, same_probe_cell
from signnap_paper.results import Results


def test_every_row_and_number_of_the_paper_is_there():
    numbers = reported()["overall"]
    assert set(ROWS) - set(numbers) == {"GCC, with features"} and set(numbers) <= set(ROWS)
    assert len(numbers) == 25 and all(set(row) == set(GRAPHS) for row in numbers.values())
    assert numbers["SIGNNAP(GCN)"]["pubmed"] == [81.34, 0.54] and numbers["ARWMF"]["coauthor_physics"] is None


def test_methods_without_labels_are_those_that_say_so():
    assert [name for name in ROWS if not method_class(ROWS[name][0]).uses_labels] == paper.UNLABELLED


def test_cells_have_settings_that_exist():
    cells = tables.OVERALL.recipe()
    assert len({each.key for each in cells}) == len(cells) == (len(ROWS) + len(paper.UNLABELLED)) * len(GRAPHS)
    assert len({each.training for each in cells}) == len(ROWS) * len(GRAPHS)  # another probe trains nothing more
    compared = {
        "supervised", "dropedge", "deepwalk", "node2vec", "arwmf", "dgi", "cmv", "gcc", "gcc-attributed", "grace",
        "bgrl", "g-bt", "gca", "signnap",
    }  # fmt: skip
    assert {each.method for each in cells} == compared <= set(METHODS)
    for each in cells:
        resolve({**each.settings, "method": each.method}, dataset=each.graph)


def test_judged_as_in_the_paper():
    assert (cell("SIGNNAP(GCN)", "pubmed").probe, cell("SIGNNAP(GCN)", "pubmed").dropped) == ("linear", False)
    assert all(cell(name, "pubmed").dropped for name in ("SIGNNAP(GAT)", "SIGNNAP(GraphSage)"))
    assert (cell("DGI", "pubmed").probe, cell("GRACE", "pubmed").probe) == ("linear-dgi", "linear-plain")
    alike = {(each.probe, each.probe_seeds, each.dropped) for each in (same_probe_cell(n, "pubmed") for n in ROWS)}
    assert alike == {("logistic", 1, False)}
    assert cell("SIGNNAP(GCN)", "pubmed", drop_edge=0.5).settings["drop_edge"] == 0.5


@pytest.fixture
def some(tmp_path):
    """Results for three methods without labels and one with, on every graph; one cell failed."""
    results = Results(tmp_path / "rows.jsonl")
    for place, name in enumerate(["SIGNNAP(GCN)", "DGI", "DeepWalk", "GCN"]):
        for column, graph in enumerate(GRAPHS):
            first = 90.0 - place if column else 90.0 + place  # on the first graph the order is reversed
            results.add(cell(name, graph), row([[first - 1, first + 1], [first + 2, first + 2]]))
    results.add(cell("G-BT", "pubmed"), failed())
    results.add(same_probe_cell("SIGNNAP(GCN)", "facebook"), row([[70.0]]))
    return results


def test_the_table(some):
    lines = table_of(tables.OVERALL.page(some, 2))
    rows = {line[0]: line[1:] for line in lines}
    assert lines[0] == ["method", *GRAPHS, "rank"] and len(lines) == 1 + 2 * len(ROWS) + 2 * len(paper.UNLABELLED)
    first = next(number for number, line in enumerate(lines) if line[0] == "SIGNNAP(GCN): across seeds")
    assert lines[first][1:3] == ["91.00 ± 1.41", "**91.00 ± 1.41**"]
    assert lines[first + 1][:2] == ["first seed", "90.00 ± 1.41"]
    assert lines[first + 2][:3] == ["same probe", "–", "**70.00 (1 seed)**"]
    assert lines[first + 3][:2] == ["the paper", "81.34 ± 0.54"]
    assert rows["DGI: across seeds"][1] == "_90.00 ± 1.41_" and rows["DeepWalk: across seeds"][0] == "**93.00 ± 1.41**"
    assert rows["GCN: across seeds"][0] == "94.00 ± 1.41"  # labels win nothing here
    assert rows["G-BT: across seeds"][0] == "failed" and rows["GRACE: across seeds"][0] == "–"


def test_the_number_of_ranked_methods_is_shown(some):
    page = " ".join(tables.OVERALL.page(some, 2).split())
    assert "a result on every graph, 3 here and 14 in the paper" in page
    figures = {name: reported()["overall"][name] for name in reported()["average_rank"]}
    places = [sorted((-each[graph][0], name) for name, each in figures.items()) for graph in GRAPHS]
    places = [[name for _, name in place].index("DeepWalk") + 1 for place in places]
    assert f"(DeepWalk's would be {sum(places) / 6:.2f})" in page
    assert abs(sum(places) / 6 - reported()["average_rank"]["DeepWalk"]) > 1


def test_ranks():
    found = {(name, graph): summarize([mean]) for graph in GRAPHS for name, mean in
             {"SIGNNAP(GCN)": 90.0, "DGI": 80.0, "DeepWalk": 80.0, "GCN": 99.0}.items()}  # fmt: skip
    assert tables.average_ranks(found) == {"SIGNNAP(GCN)": 1.0, "DGI": 2.0, "DeepWalk": 2.0}
    del found["DGI", "pubmed"]
    assert set(tables.average_ranks(found)) == {"SIGNNAP(GCN)", "DeepWalk"}
