"""The paper's figures drawn from made rows: they show the numbers of the rows, and notes name what is missing."""

import sys
from math import isnan
from statistics import fmean, stdev

import pytest
from made_rows import row, table_of

from signnap.errors import SignnapError
from signnap.evaluate import summarize
from signnap_paper import depth, paper, representations, summaries, sweeps, tables
from signnap_paper.paper import COMPARED, GRAPHS, UNLABELLED, reported, same_probe_cell
from signnap_paper.plots import save
from signnap_paper.targets import HOMES, find_target

DRAWN = {name: target for name in HOMES if (target := find_target(name)).figure is not None}
MATRIX = [[1.0, 0.9, 0.8], [0.9, 1.0, 0.7], [0.8, 0.7, 1.0]]
CURVES = {"iteration": [1, 11, 21], "train": [40.0, 60.0, 65.0], "val": [35.0, 50.0, 55.0]}
MEASUREMENTS = {
    "map": lambda seed: {"x": [0.0, 1.0, 4.0], "y": [2.0, 0.0, 1.0], "class": [0, 1, 2]} if seed == 0 else None,
    "spread": lambda seed: {"distance": 1.0, "relative_distance": 0.5, "effective_rank": 3.0 + seed},
    "silhouette": lambda seed: 0.2 + 0.1 * seed,
    "probe-curves": lambda seed: CURVES if seed == 0 else None,
    "training-curves": lambda seed: CURVES if seed == 0 else None,
    "stability": lambda seed: {"matrix": MATRIX, "mean": 0.8 + 0.1 * seed, "centred": 0.5},
}


def fill(results, cells, seeds=(0, 1)):
    """Return accuracies that differ between cells, encoders and probes."""
    for number, cell in enumerate(cells):
        tests = [[60.0 + number + seed, 62.0 + number + seed] for seed in seeds]
        looks = {look: [MEASUREMENTS[look](seed) for seed in seeds] for look in cell.looks}
        results.add(cell, row(tests, seeds=[*seeds], **({"looks": looks} if looks else {})))


def fail(results, cell):
    results.add(cell, {"seeds": [0, 1], "error": "MemoryError: "})


def patchy(results, cells, start):
    """Rows of four kinds: complete, without the first seed, failed, and missing."""
    turned = cells[start:] + cells[:start]
    fill(results, turned[0::4])
    fill(results, turned[1::4], seeds=(1,))
    for cell in turned[2::4]:
        fail(results, cell)


def words(axes):
    return [text.get_text() for text in axes.texts]


def note(figure):
    return figure.get_supxlabel().replace("\n", " ")


def accuracy(results, cell):
    """Compute a mean and its deviation directly."""
    encoders = [fmean(probes) for probes in results.find(cell, 2)["test"]]
    return fmean(encoders), stdev(encoders)


def test_every_figure_of_the_paper_is_drawn():
    assert list(DRAWN) == [name for name in HOMES if name.startswith("figure-")] and len(DRAWN) == 7


@pytest.mark.parametrize("name", DRAWN)
def test_the_same_rows_give_the_same_bytes(name, results, tmp_path):
    patchy(results, DRAWN[name].recipe(), start=0)
    first = [path.read_bytes() for path in save(DRAWN[name].figure(results, 2), tmp_path / "first")]
    again = [path.read_bytes() for path in save(DRAWN[name].figure(results, 2), tmp_path / "again")]
    assert first == again


@pytest.mark.parametrize("name", [name for name in DRAWN if name != "figure-ranks"])
@pytest.mark.parametrize("state", ["not run", "failed"])
def test_a_figure_without_rows_says_why(name, state, results):
    for cell in DRAWN[name].recipe() if state == "failed" else ():
        fail(results, cell)
    figure = DRAWN[name].figure(results, 2)
    assert [words(axes) for axes in figure.axes] == [[state]] * len(figure.axes)
    assert note(figure) == f"{state.capitalize()} – all."


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("start", [1, 3])
def test_any_part_of_the_rows_can_be_drawn(name, start, results):
    patchy(results, DRAWN[name].recipe(), start)
    assert DRAWN[name].figure(results, 2).axes


@pytest.mark.parametrize("name", DRAWN)
def test_without_matplotlib_a_figure_is_one_sentence(name, results, monkeypatch):
    for module in {"matplotlib", *(module for module in sys.modules if module.split(".")[0] == "matplotlib")}:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SignnapError, match=r"^figures need matplotlib"):
        DRAWN[name].figure(results, 2)


def test_ranks(results):
    """The dots of a method stand on its line, at the ranks that the page shows. Without rows, the paper's remain."""
    alone = tables.RANKS.figure(results, 2)
    assert [dots.get_label() for dots in alone.axes[0].collections] == ["the paper"] and "not run" in note(alone)
    cells = [
        each
        for name in UNLABELLED
        for graph in GRAPHS
        for each in (paper.cell(name, graph), same_probe_cell(name, graph))
    ]
    fill(results, cells)
    (axes,) = (figure := tables.RANKS.figure(results, 2)).axes
    lines = [label.get_text() for label in axes.get_yticklabels()]
    drawn = {dots.get_label(): {lines[round(y)]: x for x, y in dots.get_offsets()} for dots in axes.collections}
    (header, *rows) = table_of(tables.RANKS.page(results, 2))
    assert list(drawn) == header[1:] and lines == [row[0] for row in rows] and sorted(lines) == sorted(UNLABELLED)
    for at, kind in enumerate(header[1:], 1):
        assert {row[0]: row[at] for row in rows if row[at] != "–"} == {n: f"{x:.2f}" for n, x in drawn[kind].items()}
    assert drawn["the paper"] == reported()["average_rank"] and note(figure) == ""
    last = UNLABELLED[-1]  # later cells are more accurate here
    assert lines[0] == last and drawn[header[-1]][last] == 1


def test_oversmoothing(results):
    cells = depth.OVERSMOOTHING.recipe()
    fill(results, cells[:18])
    fill(results, cells[18:19], seeds=(1,))
    fail(results, cells[19])
    figure = depth.OVERSMOOTHING.figure(results, 2)
    grid = [figure.axes[at : at + 5] for at in range(0, 20, 5)]
    assert [line[0].get_ylabel() for line in grid] == list(COMPARED)
    assert [axes.get_title() for axes in grid[0]] == ["2 layers", "4 layers", "6 layers", "8 layers", "10 layers"]
    assert grid[1][2].collections[0].get_offsets().tolist() == [[0, 2], [1, 0], [4, 1]]
    mean, deviation = accuracy(results, depth.smoothed_cell("DropEdge(GCN)", 6))
    assert grid[1][2].get_xlabel() == f"accuracy {mean:.1f} ± {deviation:.1f} %\neffective rank 3.5 ± 0.7"
    assert words(grid[3][3]) == ["first seed not run"] and words(grid[3][4]) == ["failed"]
    assert note(figure) == "1 of 2 seeds – SIGNNAP(GCN): 8. Failed – SIGNNAP(GCN): 10."


def test_tsne(results):
    fill(results, representations.TSNE.recipe()[1:])
    figure = representations.TSNE.figure(results, 2)
    assert [axes.get_title() for axes in figure.axes] == list(representations.MAPPED_METHODS)
    assert words(figure.axes[0]) == ["not run"] and note(figure) == "Not run – Raw."
    assert figure.axes[3].get_xlabel() == "silhouette 0.250 ± 0.071"


def test_stability(results):
    cells = representations.STABILITY.recipe()
    fill(results, cells[:2])
    fill(results, cells[2:3], seeds=(1,))
    figure = representations.STABILITY.figure(results, 2)
    plain, scaled = figure.axes[:4], figure.axes[4:8]
    assert plain[0].images[0].get_array().tolist() == MATRIX
    assert scaled[0].images[0].get_array().tolist() == representations.normalized(MATRIX)
    assert plain[1].get_title() == "DGI\nmean 0.850 ± 0.071"
    ratio = fmean(fmean(line) for line in representations.normalized(MATRIX))
    assert scaled[1].get_title() == f"DGI\nmean {ratio:.3f} ± 0.000"
    assert plain[2].images and words(plain[3]) == words(scaled[3]) == ["not run"]
    assert note(figure) == "1 of 2 seeds – GCC, with features. Not run – SIGNNAP(GCN)."


def test_overfitting(results):
    cells = {(name, d): depth.fitted_cell(name, d) for name in COMPARED for d in depth.DEPTHS}
    fail(results, cells.pop(("GCN", 6)))
    cells.pop(("DGI", 2))
    fill(results, cells.values())
    figure = depth.OVERFITTING.figure(results, 2)
    by_depth, train, val = figure.axes
    gcn, dropedge, *_ = by_depth.containers
    assert gcn[0].get_xdata().tolist() == list(depth.DEPTHS) and isnan(gcn[0].get_ydata()[2])
    means, deviations = zip(*(accuracy(results, cells["DropEdge(GCN)", d]) for d in depth.DEPTHS), strict=True)
    assert dropedge[0].get_ydata().tolist() == list(means)
    ends = [segment[:, 1].tolist() for segment in dropedge[2][0].get_segments()]
    spread = [[mean - far, mean + far] for mean, far in zip(means, deviations, strict=True)]
    assert [end for pair in ends for end in pair] == pytest.approx([end for pair in spread for end in pair])
    for axes, part in ((train, "train"), (val, "val")):
        assert len(axes.lines) == 3
        for line in axes.lines:
            assert line.get_xydata().T.tolist() == [CURVES["iteration"], CURVES[part]]
    assert note(figure) == "Failed – GCN: 6. Not run – DGI: 2."
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "test accuracy, %", "training accuracy, %", "validation accuracy, %"
    ]  # fmt: skip


def test_a_note_names_curves_without_their_seed(results):
    fill(results, depth.OVERFITTING.recipe(), seeds=(1,))
    _, train, val = depth.OVERFITTING.figure(results, 2).axes
    assert words(train) == words(val) == ["first seed not run"]


def test_hyperparameters(results):
    fill(results, [cell for cell in sweeps.HYPERPARAMETERS.recipe() if cell.settings.get("drop_edge") != 0.9])
    figure = sweeps.HYPERPARAMETERS.figure(results, 2)
    for axes, (setting, values) in zip(figure.axes, sweeps.SWEEPS.items(), strict=True):
        mean, mark = axes.lines
        assert mark.get_xdata()[0] == sweeps.PAPER[setting]
        assert [label.get_text() for label in axes.get_xticklabels()] == [f"{value:g}" for value in values]
        known = [value for value in values if (setting, value) != ("drop_edge", 0.9)]
        found = [accuracy(results, sweeps.swept_cell(setting, value)) for value in known]
        assert mean.get_xdata().tolist() == list(values)
        assert [y for y in mean.get_ydata() if not isnan(y)] == [mean for mean, _ in found]
        rows = [results.find(sweeps.swept_cell(setting, value), 2)["test"] for value in known]
        dots = [[x, fmean(probes)] for x, row in zip(known, rows, strict=True) for probes in row]
        assert axes.collections[1].get_offsets().tolist() == dots
    assert [axes.get_xscale() for axes in figure.axes] == ["log", "linear", "log"]
    assert [axes.get_xlabel() for axes in figure.axes] == ["K", "ρ", "τ"]
    assert note(figure) == "Not run – ρ: 0.9."


def test_dimensions(results):
    cells = [cell for cell in sweeps.DIMENSIONS.recipe() if cell.graph != "facebook"]
    fill(results, cells[1:])
    fail(results, cells[0])
    figure = sweeps.DIMENSIONS.figure(results, 2)
    pubmed, facebook, coauthors = figure.axes
    assert [axes.get_title() for axes in figure.axes] == list(sweeps.WIDTH_GRAPHS)
    assert words(facebook) == ["not run"]
    gcn = next(group for group in pubmed.containers if hasattr(group, "patches"))
    assert len(gcn) == 4  # one has failed
    groups = [group for group in coauthors.containers if hasattr(group, "patches")]
    for name, group in zip(COMPARED, groups, strict=True):
        found = [accuracy(results, sweeps.width_cell(name, "coauthor_cs", dim)) for dim in sweeps.WIDTHS]
        assert [patch.get_height() for patch in group] == [mean for mean, _ in found]
        assert group.get_label() == name
    assert note(figure).endswith("Failed – pubmed: GCN 32. Not run – facebook.")


def test_a_note_names_what_is_missing_and_why():
    there, few, failed = {"seeds": [0, 1]}, {"seeds": [1]}, {"seeds": [0, 1], "error": ""}
    rows = {
        ("a", "1"): None,
        ("a", "2"): there,
        ("b", "1"): None,
        ("b", "2"): None,
        ("c", "1"): few,
        ("c", "2"): failed,
    }
    assert summaries.note(rows, 2) == "Not run – a: 1; b. 1 of 2 seeds – c: 1. Failed – c: 2."
    assert summaries.note({("a", "1"): there}, 2) == ""


def test_a_panel_is_absent_for_all_of_its_reasons():
    there, failed = {"seeds": [0]}, {"seeds": [0], "error": ""}
    assert summaries.absent([None, failed, None]) == "not run, failed"
    assert summaries.absent([None, there]) == ""


def test_one_encoder_has_no_deviation():
    assert isnan(summaries.deviation(summarize([80.0])))
    assert summaries.deviation(summarize([80.0, 82.0])) == pytest.approx(2**0.5)


def test_every_method_has_a_style_of_its_own():
    assert list(summaries.STYLES) == list(COMPARED)
    for looks in zip(*summaries.STYLES.values(), strict=True):
        assert len({*looks}) == len(COMPARED)
