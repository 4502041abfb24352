"""Common parts of pages, and the pages of our own tables: every number stands at its place."""

from itertools import product
from math import isnan, prod
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from made_rows import SHOWN, TWO, failed, row, settings_of, table_of

from signnap_paper import departures, fidelity, paper, summaries, tables
from signnap_paper.paper import GRAPHS, cell, explanations, reported
from signnap_paper.results import Results

# -- what pages share --------------------------------------------------------------------------------------------------


def test_means_as_text():
    known, halves = row([[70.0], [72.0]]), lambda row: [value / 2 for value in summaries.accuracies(row)]
    assert summaries.shown(known, 2) == "71.00 ± 1.41"
    assert summaries.shown(known, 5) == "71.00 ± 1.41 (2 seeds)"
    assert summaries.shown(known, 2, halves, digits=3) == "35.500 ± 0.707"
    assert summaries.shown(row([[0.5]]), 5, digits=4) == "0.5000 (1 seed)"
    ill = known | {"collapsed": {"1": "all embeddings are the same"}}
    assert [summaries.shown(ill, seeds) for seeds in (2, 5)] == [
        "71.00 ± 1.41 (1 collapsed)",
        "71.00 ± 1.41 (2 seeds, 1 collapsed)",
    ]
    assert [summaries.shown(None, 2), summaries.shown(failed(), 2)] == ["–", "failed"]


def test_the_state_of_a_cell():
    assert [summaries.state(each) for each in (None, failed(), row(TWO))] == ["not run", "failed", ""]


def test_accuracy_over_encoders():
    assert str(summaries.over_encoders(row(TWO))) == SHOWN
    assert summaries.over_encoders(None) is summaries.over_encoders(failed()) is None


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


def test_the_distance_of_a_figure():
    draws = np.random.default_rng(0).normal(70, 2, (4000, 11))
    distances = [fidelity.Compared(one, list(ten)).distance for one, *ten in draws]
    assert abs(fmean(distances)) < 0.05  # one more of the same is Student's t with nine degrees of freedom
    assert fmean(value**2 for value in distances) == pytest.approx(9 / 7, rel=0.1)
    assert fidelity.Compared(85.0, [80.0, 82.0]).distance > 0 > fidelity.Compared(75.0, [80.0, 82.0]).distance
    assert all(isnan(fidelity.Compared(85.0, encoders).distance) for encoders in ([80.0], [80.0, 80.0]))


def test_the_share_of_encoders_below_a_figure():
    below = [fidelity.Compared(figure, [80.0, 82.0, 81.0, 82.0]).below for figure in (79.0, 80.0, 81.5, 82.0, 83.0)]
    assert below == [0, 0.125, 0.5, 0.75, 1]


def test_figures_among_encoders_of_their_own_kind_are_neither_high_nor_low():
    draws = np.random.default_rng(0).normal(70, 2, (2000, 20, 6))
    compared = [[fidelity.Compared(one, list(five)) for one, *five in cells] for cells in draws]
    means = [fmean(each.below for each in found) for found in compared]
    said = fidelity.level(compared[0])
    assert said.startswith(f"On average {100 * means[0]:.0f} % of the encoders")
    assert said.endswith(f"50 %, with a standard error of {100 * np.std(means):.0f} %.")
    assert fmean(means) == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize("least", range(5))
def test_the_chance_of_so_many_events(least):
    shares = [0.2, 0.9, 0.5, 1.0]
    outcomes = product((False, True), repeat=4)
    each = [(sum(found), prod(p if yes else 1 - p for p, yes in zip(shares, found, strict=True))) for found in outcomes]
    assert fidelity.chance(shares, least) == pytest.approx(sum(chance for count, chance in each if count >= least))


def test_encoders_that_collapsed_are_counted_beside_the_figure(results):
    key = ("SIGNNAP(GCN)", "pubmed")
    results.add(cell(*key), row([[70.0], [72.0]], collapsed={"1": "constant"}))
    assert fidelity.compare(results, *key, 2)[0][6] == "2, 1 collapsed"
    assert fidelity.compare(results, *key, 1)[0][6] == "1"


def test_the_page_of_fidelity(results):
    add = lambda graph, test: results.add(cell("SIGNNAP(GCN)", graph), row(test))
    theirs = {graph: numbers[0] for graph, numbers in reported()["overall"]["SIGNNAP(GCN)"].items()}
    add("pubmed", [[theirs["pubmed"] - 1], [theirs["pubmed"] + 2]])
    add("facebook", [[theirs["facebook"] - 3, theirs["facebook"] - 1], [theirs["facebook"] - 6] * 2])
    results.add(cell("SIGNNAP(GCN)", "coauthor_cs"), failed())
    page = fidelity.FIDELITY.page(results, 10)
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
    assert "outside, 1 lie above and 0 below. For 0 of them the paper's ±" in words
    assert ": -0.19 to +1.15, +0.48 on average." in words
    alone = fidelity.FIDELITY.page(results, 1)  # the first encoder alone is a point
    assert "in 0 of 30 cells" in alone and "*Distance*" not in alone and "nan" not in alone
    assert {each.method for each in fidelity.FIDELITY.recipe()} == {"signnap"}


def test_what_was_tried_is_shown_by_its_distance_from_the_paper(results):
    name, graph = fidelity.OUTSIDE[0]
    figure = reported()["overall"][name][graph][0]
    results.add(cell(name, graph, share=1), row([[figure - 3], [figure - 1]], val=TWO))
    results.add(cell(name, graph, objective="infonce"), failed())
    results.add(cell(name, graph, precision="float32"), row([[figure - 1], [figure + 1]], val=TWO))
    page = departures.TRIED.page(results, 2)
    assert "The figure is inside in 1 of 3 trials" in page
    line = table_of(page)[1]
    distance = 2 / (2**0.5 * 1.5**0.5)  # of one more encoder from the mean of two
    ours, among = f"{figure - 2:.2f} ± 1.41, {distance:+.1f}", f"{figure:.2f} ± 1.41, +0.0, inside"
    assert line == [name, graph, f"{figure:.2f}", "–", "failed", "–", ours, among, *["–"] * 3]
    assert len(departures.TRIED.recipe()) == len(departures.WAYS_TRIED) * len(fidelity.OUTSIDE)


def test_what_was_tried_on_another_device_is_named(results):
    (one, two), changes = fidelity.OUTSIDE[:2], [*departures.WAYS_TRIED.values()]
    for key in (one, two):
        results.add(cell(*key), row(TWO))
    assert "Other devices" not in departures.TRIED.page(results, 2)
    results.add(cell(*one, **changes[1]), row(TWO, device="Slow One"))
    results.add(cell(*one, **changes[2]), row(TWO, device="Slow One"))
    results.add(cell(*two, **changes[2]), failed() | {"device": "Slow One"})
    where, names = "SIGNNAP(GCN) on pubmed on Slow One", "; ".join([*departures.WAYS_TRIED][1:3])
    results.add(cell(*two, **changes[3]), row(TWO))
    assert f" Other devices than Fast One: {where} ({names}). A CPU" in departures.TRIED.page(results, 2)


def test_every_figure_outside_is_tried():
    assert {key.partition(" on ")[::2] for key in explanations()["fidelity"]} <= {*fidelity.OUTSIDE}


# -- more seeds --------------------------------------------------------------------------------------------------------


def test_more_seeds_count_where_the_figure_was_outside(results):
    outside = fidelity.OUTSIDE
    figure_of = lambda name, graph: reported()["overall"][name][graph][0]
    for name in paper.SIGNNAP_ROWS:
        for graph in GRAPHS:
            figure = figure_of(name, graph)
            few = [[figure - 2], [figure - 1]] if (name, graph) in outside else [[figure - 1], [figure + 1]]
            results.add(cell(name, graph), row(few))
    inside = 30 - len(outside)
    assert f"{inside} of 30 figures would lie inside" in _words(fidelity.MORE_SEEDS.page(results, 2))
    unsettled = (
        f"at least {inside} of 30 figures would lie inside. The aim was 27 with ten seeds. With 3: not known yet"
    )
    assert unsettled in _words(fidelity.MORE_SEEDS.page(results, 3))
    for number, (name, graph) in enumerate(outside):  # all but the last two come inside
        last = figure_of(name, graph) + (0.5 if number < len(outside) - 2 else -0.5)
        results.add(cell(name, graph), row([[last]]) | {"seeds": [2]})
    page = fidelity.MORE_SEEDS.page(results, 3)
    assert "28 of 30 figures would lie inside. The aim was 27 with ten seeds. With 3: reached." in _words(page)
    assert "Of the figures outside, 2 lie above and 0 below." in _words(page)
    assert "15.0 would lie inside on average, and 27 or more with probability 0.00." in _words(page)  # 1 − 2/(3 + 1)
    lines = table_of(page)
    assert [(line[0], line[1], line[6]) for line in lines[1:]] == [(*each, "3") for each in outside]
    assert [line[7] for line in lines[1:]] == ["inside"] * (len(outside) - 2) + ["0.50 above"] * 2
    still = [each for each in outside if each not in fidelity.AMONG_TWENTY]
    assert [each.key for each in fidelity.MORE_SEEDS.recipe()] == [cell(*each).key for each in still]
    assert len(still) == len(outside) - len(fidelity.AMONG_TWENTY)


def test_the_cells_with_twenty_seeds_are_those_that_need_no_more():
    committed = Results(Path(__file__).parents[2] / "results" / "rows.jsonl")
    inside = [each for each in fidelity.OUTSIDE if fidelity.compare(committed, *each, 20)[1].place == "inside"]
    assert inside == fidelity.AMONG_TWENTY


def _words(page):
    return " ".join(page.split())


# -- as the authors' code trains -------------------------------------------------------------------------------------


def test_the_difference_is_of_the_seeds_that_both_have(results):
    as_authors = {"precision": "float32", "share": 1}
    results.add(cell("SIGNNAP(GCN)", "pubmed"), row([[80.0], [84.0]]))
    results.add(cell("SIGNNAP(GCN)", "pubmed", **as_authors), row([[81.5]]))
    results.add(cell("SIGNNAP(GCN)", "facebook"), row([[70.0], [72.0]]))
    results.add(cell("SIGNNAP(GCN)", "facebook", **as_authors), row([[69.0], [72.0]]))
    results.add(cell("SIGNNAP(GCN)", "coauthor_cs"), row([[90.0]]))
    results.add(cell("SIGNNAP(GCN)", "coauthor_cs", **as_authors), row([[90.5], [95.0]]))
    results.add(cell("SIGNNAP(GAT)", "pubmed"), row(TWO))
    results.add(cell("SIGNNAP(GAT)", "pubmed", **as_authors), failed())
    page = departures.LETTER.page(results, 2)
    lines = {(line[0], line[1]): line[3:] for line in table_of(page)}
    assert lines["SIGNNAP(GCN)", "pubmed"] == ["82.00 ± 2.83", "81.50 (1 seed)", "+1.50"]
    assert lines["SIGNNAP(GCN)", "facebook"] == ["71.00 ± 1.41", "70.50 ± 2.12", "-0.50"]
    assert lines["SIGNNAP(GAT)", "pubmed"][1:] == ["failed", "–"]
    assert lines["SIGNNAP(GAT)", "facebook"] == ["–", "–", "–"]
    assert lines["SIGNNAP(GCN)", "coauthor_cs"][2] == "+0.50"
    # of 1.5, -0.5 and 0.5, whose deviation is 1
    assert "It is +0.50 on average over 3 cells, with a standard error of 0.58, and above zero in 2 of them." in page


def test_the_figures_among_the_seeds_of_either_way_are_counted(results):
    as_authors = {"precision": "float32", "share": 1}
    for graph, around in (("pubmed", 0.0), ("facebook", 5.0)):
        figure = reported()["overall"]["SIGNNAP(GCN)"][graph][0]
        results.add(cell("SIGNNAP(GCN)", graph), row([[figure - 1], [figure + 1]]))
        results.add(cell("SIGNNAP(GCN)", graph, **as_authors), row([[figure + around - 1], [figure + around + 1]]))
    results.add(cell("SIGNNAP(GAT)", "pubmed", **as_authors), failed())
    page = departures.LETTER.page(results, 2)
    assert "share 512) 2 of 2, 0.7 expected; authors' code" in page
    assert "share 1) 1 of 2, 0.7 expected." in page


# -- shared negatives --------------------------------------------------------------------------------------------------


def test_the_page_of_sharing_shows_validation(results):
    for share, graph in ((64, "facebook"), (0, "pubmed")):
        results.add(departures.sharing_cell(share, graph), row([[1.0], [2.0]], val=TWO))
    results.add(departures.sharing_cell(512, "pubmed"), failed())
    assert table_of(departures.SHARING.page(results, 2)) == [
        ["anchors", "pubmed", "facebook"], ["1", "–", "–"], ["64", "–", SHOWN], ["256", "–", "–"],
        ["512", "failed", "–"], ["all", SHOWN, "–"],
    ]  # fmt: skip
    assert [(settings_of(each).share, settings_of(each).iterations) for each in departures.SHARING.recipe()[:5]] == [
        (1, 1500), (64, 1500), (256, 1500), (512, 1500), (0, 1500)
    ]  # fmt: skip


def test_the_grid_chooses_by_validation(results):
    tries = tables.GRIDS["GCA"][2]
    for number, each in enumerate(tries):
        assert tables.best_of_grid(results, "GCA", "pubmed", 2) is None  # not before all were tried
        mean = 80.0 if number == 2 else 70.0 + number
        found = row([[90.0 - number]] * 2, val=[[mean - 1], [mean + 1]])
        results.add(tables.grid_cell("GCA", "pubmed", each), found)
    assert (
        tables.best_of_grid(results, "GCA", "pubmed", 2) == tries[2]
        and tables.best_of_grid(results, "GCA", "facebook", 2) is None
    )
    lines = [line for line in table_of(tables.GRID.page(results, 2)) if line[:2] == ["GCA", "pubmed"]]
    assert [line[-1] for line in lines] == ["70.00 ± 1.41", "71.00 ± 1.41", "**80.00 ± 1.41**", "73.00 ± 1.41"]
    assert lines[2][2:4] == ["300", "lr 0.01, temperature 0.4"]
