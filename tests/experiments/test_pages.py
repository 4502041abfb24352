"""Pages of the paper's figures and of our own tables: every number in its place."""

from itertools import product
from math import isnan, prod
from statistics import fmean

import numpy as np
import pytest
from made_rows import failed, looked, row, table_of, tables_of

from signnap.evaluate import summarize
from signnap.experiments import markdown
from signnap.experiments.cells import Results
from signnap.experiments.paper import GRAPHS, cell, explanations, reported
from signnap.experiments.targets import (
    depths,
    dimensions,
    fidelity,
    grid,
    hyperparameters,
    letter,
    overfitting,
    oversmoothing,
    sharing,
    stability,
    tried,
    tsne,
)
from signnap.methods.registry import method_class

TWO = [[70.0, 72.0], [73.0, 73.0]]  # two encoders of two probes
SHOWN = "72.00 ± 1.41"


@pytest.fixture
def results(tmp_path):
    return Results(tmp_path / "rows.jsonl")


def settings_of(cell):
    return method_class(cell.method)(**cell.settings).settings_for(cell.graph)


def lines_of(table):
    return {line[0]: line[1:] for line in table}


# -- what pages share --------------------------------------------------------------------------------------------------


def test_means_as_they_are_shown():
    found, known = summarize([70.0, 72.0]), row([[70.0], [72.0]])
    assert markdown.shown(found, known, 2) == "71.00 ± 1.41"
    assert markdown.shown(found, known, 5) == "71.00 ± 1.41 (2 seeds)"
    assert markdown.shown(summarize([0.5]), row([[0.5]]), 5, digits=4) == "0.5000 (1 seed)"
    ill = known | {"collapsed": {"1": "all embeddings are the same"}}
    assert [markdown.shown(found, ill, seeds) for seeds in (2, 5)] == [
        "71.00 ± 1.41 (1 collapsed)",
        "71.00 ± 1.41 (2 seeds, 1 collapsed)",
    ]
    assert [markdown.shown(None, None, 2), markdown.shown(None, failed(), 2)] == ["–", "failed"]


def test_accuracy_over_encoders():
    assert str(markdown.over_encoders(row(TWO))) == SHOWN
    assert markdown.over_encoders(None) is markdown.over_encoders(failed()) is None


# -- fidelity ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "where"),
    [(80.0, "inside"), (81.5, "inside"), (83.0, "inside"), (83.25, "0.25 above"), (78.0, "2.00 below")],
)
def test_where_a_figure_lies(figure, where):
    assert fidelity.Compared(figure, [81.0, 83.0, 80.0]).place == where
    assert fidelity.Compared(81.0, [81.0]).place == "inside"


@pytest.mark.parametrize(
    ("figure", "reaches"), [(81.0, False), (83.25, True), (83.75, False), (79.5, True), (79.25, False)]
)
def test_a_deviation_that_reaches_into_the_range(figure, reaches):
    assert fidelity.Compared(figure, [81.0, 83.0, 80.0], 0.5).reaches == reaches


def test_how_far_a_figure_is():
    draws = np.random.default_rng(0).normal(70, 2, (4000, 11))
    distances = [fidelity.Compared(one, list(ten)).distance for one, *ten in draws]
    assert abs(fmean(distances)) < 0.05  # one more of the same is Student's t with nine degrees of freedom
    assert fmean(value**2 for value in distances) == pytest.approx(9 / 7, rel=0.1)
    assert fidelity.Compared(85.0, [80.0, 82.0]).distance > 0 > fidelity.Compared(75.0, [80.0, 82.0]).distance
    assert all(isnan(fidelity.Compared(85.0, encoders).distance) for encoders in ([80.0], [80.0, 80.0]))


@pytest.mark.parametrize("least", range(5))
def test_the_chance_of_so_many_events(least):
    shares = [0.2, 0.9, 0.5, 1.0]
    outcomes = product((False, True), repeat=4)
    each = [(sum(found), prod(p if yes else 1 - p for p, yes in zip(shares, found, strict=True))) for found in outcomes]
    assert fidelity.chance(shares, least) == pytest.approx(sum(chance for count, chance in each if count >= least))


def test_the_page_of_fidelity(results):
    add = lambda graph, test: results.add(cell("SIGNNAP(GCN)", graph), row(test))
    theirs = {graph: numbers[0] for graph, numbers in reported()["overall"]["SIGNNAP(GCN)"].items()}
    add("pubmed", [[theirs["pubmed"] - 1], [theirs["pubmed"] + 2]])
    add("facebook", [[theirs["facebook"] - 3, theirs["facebook"] - 1], [theirs["facebook"] - 6] * 2])
    results.add(cell("SIGNNAP(GCN)", "coauthor_cs"), failed())
    page = fidelity.page(results, 10)
    lines = {(line[0], line[1]): line[2:] for line in table_of(page)}
    assert len(lines) == 1 + 5 * len(GRAPHS)
    assert page.startswith("The paper's figure lies within the range of our encoder seeds in 1 of 30 cells. ")
    written = lambda graph, *gaps: [f"{theirs[graph] + gap:.2f}" for gap in gaps]
    deviations = {graph: numbers[1] for graph, numbers in reported()["overall"]["SIGNNAP(GCN)"].items()}
    figure = lambda graph: f"{theirs[graph]:.2f} ± {deviations[graph]:.2f}"
    assert lines["SIGNNAP(GCN)", "pubmed"] == [
        figure("pubmed"),
        *written("pubmed", -1, 0.5, 2),
        "2",
        "inside",
        "-0.19",
        "–",
    ]
    assert lines["SIGNNAP(GCN)", "facebook"] == [
        figure("facebook"),
        *written("facebook", -6, -4, -2),
        "2",
        "2.00 above",
        "+1.15",
        "not yet",
    ]
    assert lines["SIGNNAP(GCN)", "coauthor_cs"][1:] == ["–"] * 4 + ["failed", "–", "–"]
    assert lines["SIGNNAP(GAT)", "pubmed"][1:] == ["–"] * 4 + ["not run", "–", "–"]
    words = " ".join(page.split())
    assert "0.7 figures would lie inside on average, and 27 or more with probability 0.00." in words
    assert "outside, 1 lie above and 0 below; the ± of 0, which" in words
    assert ": -0.19 to +1.15, +0.48 on average." in words
    alone = fidelity.page(results, 1)  # the first encoder alone is a point
    assert "in 0 of 30 cells" in alone and "*Distance*" not in alone and "nan" not in alone
    assert {each.method for each in fidelity.recipe()} == {"signnap"}


def test_what_was_tried_is_shown_by_its_distance_from_the_paper(results):
    name, graph = tried.cells_outside()[0]
    figure = reported()["overall"][name][graph][0]
    results.add(cell(name, graph, share=1), row([[figure - 3], [figure - 1]], val=TWO))
    results.add(cell(name, graph, objective="infonce"), failed())
    line = table_of(tried.page(results, 2))[1]
    distance = 2 / (2**0.5 * 1.5**0.5)  # of one more encoder from the mean of two
    ours = f"{figure - 2:.2f} ± 1.41, {distance:+.1f}"
    assert line == [name, graph, f"{figure:.2f}", "–", "failed", "–", ours, "–"]
    assert f"{name} on {graph}" in explanations()["fidelity"]
    assert len(tried.recipe()) == len(tried.TRIED) * len(explanations()["fidelity"])


# -- to the letter -----------------------------------------------------------------------------------------------------


def test_the_difference_is_of_the_seeds_that_both_have(results):
    to_the_letter = {"precision": "float32", "share": 1}
    results.add(cell("SIGNNAP(GCN)", "pubmed"), row([[80.0], [84.0]]))
    results.add(cell("SIGNNAP(GCN)", "pubmed", **to_the_letter), row([[81.5]]))
    results.add(cell("SIGNNAP(GCN)", "facebook"), row([[70.0], [72.0]]))
    results.add(cell("SIGNNAP(GCN)", "facebook", **to_the_letter), row([[69.0], [72.0]]))
    results.add(cell("SIGNNAP(GAT)", "pubmed"), row(TWO))
    results.add(cell("SIGNNAP(GAT)", "pubmed", **to_the_letter), failed())
    page = letter.page(results, 2)
    lines = {(line[0], line[1]): line[3:] for line in table_of(page)}
    assert lines["SIGNNAP(GCN)", "pubmed"] == ["82.00 ± 2.83", "81.50 (1 seed)", "+1.50"]
    assert lines["SIGNNAP(GCN)", "facebook"] == ["71.00 ± 1.41", "70.50 ± 2.12", "-0.50"]
    assert lines["SIGNNAP(GAT)", "pubmed"][1:] == ["failed", "–"]
    assert lines["SIGNNAP(GAT)", "facebook"] == ["–", "–", "–"]
    # the mean of 1.5 and -0.5 and its standard error, half their distance
    assert "It is +0.50 on average over 2 cells, with a standard error of 1.00, and above zero in 1 of them." in page


# -- shared negatives --------------------------------------------------------------------------------------------------


def test_the_page_of_sharing_shows_validation(results):
    for share, graph in ((64, "facebook"), (0, "pubmed")):
        results.add(sharing.cell_of(share, graph), row([[1.0], [2.0]], val=TWO))
    results.add(sharing.cell_of(512, "pubmed"), failed())
    assert table_of(sharing.page(results, 2)) == [
        ["anchors", "pubmed", "facebook"], ["1", "–", "–"], ["64", "–", SHOWN], ["256", "–", "–"],
        ["512", "failed", "–"], ["all", SHOWN, "–"],
    ]  # fmt: skip
    assert [(settings_of(each).share, settings_of(each).iterations) for each in sharing.recipe()[:5]] == [
        (1, 1500), (64, 1500), (256, 1500), (512, 1500), (0, 1500)
    ]  # fmt: skip


def test_the_grid_chooses_by_validation(results):
    tries = grid.GRIDS["GCA"][2]
    for number, each in enumerate(tries):
        assert grid.best(results, "GCA", "pubmed", 2) is None  # not before all were tried
        mean = 80.0 if number == 2 else 70.0 + number
        found = row([[90.0 - number]] * 2, val=[[mean - 1], [mean + 1]])
        results.add(grid.cell_of("GCA", "pubmed", each), found)
    assert grid.best(results, "GCA", "pubmed", 2) == tries[2] and grid.best(results, "GCA", "facebook", 2) is None
    lines = [line for line in table_of(grid.page(results, 2)) if line[:2] == ["GCA", "pubmed"]]
    assert [line[-1] for line in lines] == ["70.00 ± 1.41", "71.00 ± 1.41", "**80.00 ± 1.41**", "73.00 ± 1.41"]
    assert lines[2][2:4] == ["300", "lr 0.01, temperature 0.4"]


# -- depth -------------------------------------------------------------------------------------------------------------


def test_the_page_of_over_smoothing(results):
    panel = oversmoothing.cell_of("DGI", 6)
    looks = looked(panel, 2.0, 2)
    looks["spread"][1] = {"distance": 4.0, "relative_distance": 0.5, "effective_rank": 7.0}
    results.add(panel, row(TWO, looks=looks))
    results.add(oversmoothing.cell_of("GCN", 10), failed())
    found = tables_of(oversmoothing.page(results, 2))
    layers = ["2 layers", "4 layers", "6 layers", "8 layers", "10 layers"]
    shown = {
        "test accuracy, %": SHOWN,
        "mean distance of two nodes": "3.00 ± 1.41",
        "the same, of nodes of mean length one": "1.75 ± 1.77",
        "effective rank": "5.50 ± 2.12",
    }
    assert [table[0] for table in found] == [[title, *layers] for title in shown]
    for table, text in zip(found, shown.values(), strict=True):
        assert [line[0] for line in table[1:]] == list(depths.METHODS)
        assert lines_of(table)["DGI"] == ["–", "–", text, "–", "–"]
        assert lines_of(table)["GCN"] == ["–"] * 4 + ["failed"]


def test_encoders_whose_nodes_coincide_are_told(results):
    panel = oversmoothing.cell_of("SIGNNAP(GCN)", 10)
    assert "coincide" not in oversmoothing.page(results, 2)
    looks = looked(panel, 2.0, 2)
    looks["spread"][1] = {"distance": 0.1, "relative_distance": 0.004, "effective_rank": 1.2}
    results.add(panel, row(TWO, looks=looks))
    said = "With 10 layers, nodes all but coincide in 1 of 2 encoders of SIGNNAP(GCN), and accuracy there is"
    assert f"\n\n{said} 73.00 %.\n\n" in oversmoothing.page(results, 2)


def test_the_page_of_over_fitting(results):
    panel = overfitting.cell_of("SIGNNAP(GCN)", 2)
    results.add(panel, row(TWO, looks=looked(panel, 2.0, 2)))
    table = table_of(overfitting.page(results, 3))
    assert lines_of(table)["SIGNNAP(GCN)"] == [f"{SHOWN} (2 seeds)", "–", "–", "–", "–"]
    curves = {each.looks for each in overfitting.recipe() if each.settings["layers"] > 2}
    assert curves == {()}
    assert [overfitting.cell_of(name, 2).looks for name in depths.METHODS] == [
        ("training-curves",), ("training-curves",), ("probe-curves",), ("probe-curves",)
    ]  # fmt: skip


@pytest.mark.parametrize("target", [oversmoothing, overfitting])
def test_layers_are_those_of_the_encoder(target):
    cells = target.recipe()
    assert [settings_of(each).layers for each in cells] == [*depths.DEPTHS] * len(depths.METHODS)
    assert {each.graph for each in cells} == {target.GRAPH}


# -- stability and maps ------------------------------------------------------------------------------------------------


def test_a_matrix_min_max_scaled():
    assert stability.normalized([[1.0, 0.5], [0.75, 1.0]]) == [[1.0, 0.0], [0.5, 1.0]]
    assert stability.normalized([[0.25, 0.25], [0.25, 0.25]]) == [[1.0, 1.0], [1.0, 1.0]]


def test_the_page_of_stability(results):
    one = {"matrix": [[1.0, 0.5], [0.5, 1.0]], "mean": 0.5, "centred": 0.125}
    other = {"matrix": [[1.0, 0.25, 0.5], [0.25, 1.0, 0.5], [0.5, 0.5, 1.0]], "mean": 0.25, "centred": 0.375}
    results.add(stability.cell_of("DGI"), row(TWO, looks={"stability": [one, other]}))
    results.add(stability.cell_of("SIGNNAP(GCN)"), failed())
    scaled = summarize([0.5, (3 + 4 / 3) / 9])
    table = lines_of(table_of(stability.page(results, 2)))
    assert table["method"] == ["cosine", "normalised", "the paper: normalised", "centred"]
    theirs = {name: f"{number:.3f}" for name, number in reported()["stability"].items()}
    assert table["DGI"] == [
        "0.375 ± 0.177", f"{scaled.mean:.3f} ± {scaled.std:.3f}", theirs["DGI"], "0.250 ± 0.177"
    ]  # fmt: skip
    assert table["SIGNNAP(GCN)"] == ["failed", "failed", theirs["SIGNNAP(GCN)"], "failed"]
    assert table["GCC, with features"] == ["–", "–", theirs["GCC"], "–"]


def test_the_page_of_maps(results):
    results.add(tsne.cell_of("Raw"), row(TWO, looks=looked(tsne.cell_of("Raw"), 0.25, 2)))
    results.add(tsne.cell_of("DGI"), failed())
    theirs = {name: f"{number:.4f}" for name, number in reported()["silhouette"].items()}
    assert table_of(tsne.page(results, 2))[1:] == [
        ["Raw", "0.2500 ± 0.0000", theirs["Raw"]],
        ["DGI", "failed", theirs["DGI"]],
        ["GCC, with features", "–", theirs["GCC"]],
        ["SIGNNAP(GCN)", "–", theirs["SIGNNAP(GCN)"]],
    ]


# -- sweeps ------------------------------------------------------------------------------------------------------------


def test_the_page_of_hyper_parameters(results):
    results.add(cell("SIGNNAP(GCN)", "pubmed"), row(TWO))
    results.add(hyperparameters.cell_of("drop_edge", 0.9), row([[50.0], [50.0]]))
    found = tables_of(hyperparameters.page(results, 2))
    assert [table[0][0] for table in found] == ["K", "ρ", "τ"]
    for table in found:  # the paper's own values are one cell
        (header, (title, *line)) = table
        assert title == "accuracy, %"
        assert [name for name, text in zip(header[1:], line, strict=True) if text == SHOWN] == [
            name for name in header if name.endswith("(the paper's)")
        ]
    assert found[1][1][1:] == ["–", SHOWN, "–", "–", "50.00 ± 0.00"]


def test_sweeps_change_one_setting():
    paper = settings_of(cell("SIGNNAP(GCN)", "pubmed"))
    for setting, values in hyperparameters.SWEEPS.items():
        assert getattr(paper, setting) == hyperparameters.PAPER[setting] and hyperparameters.PAPER[setting] in values
        swept = [settings_of(hyperparameters.cell_of(setting, value)) for value in values]
        assert [getattr(each, setting) for each in swept] == list(values)
        for each in swept:
            assert {name for name, value in vars(each).items() if value != getattr(paper, name)} <= {setting}


def test_the_page_of_dimensions(results):
    results.add(cell("GCN", "facebook"), row(TWO))
    results.add(dimensions.cell_of("DGI", "facebook", 32), failed())
    found = tables_of(dimensions.page(results, 2))
    assert [table[0] for table in found] == [[graph, "32", "64", "128", "256", "512"] for graph in dimensions.GRAPHS]
    lines = lines_of(found[1])
    assert lines["GCN"] == ["–", "–", SHOWN, "–", "–"] and lines["DGI"] == ["failed", "–", "–", "–", "–"]
    assert {text for table in (found[0], found[2]) for line in table[1:] for text in line[1:]} == {"–"}


def test_dimensions_are_those_of_the_embeddings():
    for graph in dimensions.GRAPHS:
        for name in dimensions.METHODS:
            swept = [dimensions.cell_of(name, graph, dim) for dim in dimensions.DIMENSIONS]
            assert [settings_of(each).dim for each in swept] == list(dimensions.DIMENSIONS)
            assert cell(name, graph) in swept
            assert all(getattr(settings_of(each), "hidden", None) in (None, settings_of(each).dim) for each in swept)
