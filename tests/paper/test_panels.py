"""Maps, matrices, curves and bars show the given numbers."""

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from signnap_paper.plots import COLOURS, Bars, Line, Map, Matrix, Panel, Style, _limits, bars, curves, maps, matrices


def words(axes):
    return [text.get_text() for text in axes.texts]


def names(figure):
    return [text.get_text() for legend in figure.legends for text in legend.texts]


def test_maps():
    there = Map([0.0, 3.0], [1.0, -2.0], [1, 0], "accuracy 70 %")
    figure = maps({"GCN": [there, "not run"], "DGI": ["failed", there]}, ["2 layers", "4 layers"], "A note.", side=1)
    first, second, third, fourth = figure.axes
    (points,) = first.collections
    assert points.get_offsets().tolist() == [[0, 1], [3, -2]]
    assert [tuple(colour[:3]) for colour in points.get_facecolors()] == [to_rgb(COLOURS[1]), to_rgb(COLOURS[0])]
    assert first.get_xlabel() == "accuracy 70 %" and list(first.get_xticks()) == []
    assert [axes.get_ylabel() for axes in figure.axes] == ["GCN", "", "DGI", ""]
    assert [axes.get_title() for axes in figure.axes] == ["2 layers", "4 layers", "", ""]
    assert [words(axes) for axes in (first, second, third, fourth)] == [[], ["not run"], ["failed"], []]
    assert figure.get_supxlabel() == "A note."


def test_more_classes_than_colours_and_nodes_in_one_point():
    figure = maps({"": [Map([0.0] * 11, [0.0] * 11, range(11))]}, ["GCN"], side=1)
    figure.draw_without_rendering()
    colours = figure.axes[0].collections[0].get_facecolors()
    assert colours[0].tolist() == colours[10].tolist() != colours[1].tolist()


def test_matrices_of_a_row_share_one_scale():
    low, high = [[1.0, 0.2], [0.2, 1.0]], [[1.0, 0.9], [0.9, 1.0]]
    rows = {
        "cosine": {"DGI": Matrix(low, "mean 0.2"), "GCN": "not run", "GCC": Matrix(high, "mean 0.9")},
        "scaled": {"DGI": Matrix(high, "x"), "GCN": "failed", "GCC": Matrix(high, "y")},
    }
    figure = matrices(rows, axis="copy")
    panels, bar_axes = figure.axes[:6], figure.axes[6:]
    assert np.asarray(panels[0].images[0].get_array()).tolist() == low
    scales = [axes.images[0].get_clim() for axes in panels if axes.images]
    assert scales == [(0.2, 1.0), (0.2, 1.0), (0.9, 1.0), (0.9, 1.0)]
    assert [axes.get_title() for axes in panels[:3]] == ["DGI\nmean 0.2", "GCN", "GCC\nmean 0.9"]
    assert words(panels[1]) == ["not run"] and words(panels[4]) == ["failed"]
    assert [axes.get_ylabel() for axes in bar_axes] == ["cosine", "scaled"]
    assert [label.get_text() for label in panels[0].get_xticklabels()] == ["1", "2"]


def test_a_matrix_of_ones_is_deep():
    figure = matrices({"scaled": {"DGI": Matrix([[1.0, 1.0], [1.0, 1.0]], "")}}, axis="copy")
    (image,) = figure.axes[0].images
    assert image.norm(1.0) == 1.0


def test_no_matrix_at_all_needs_no_colour_bar():
    assert len(matrices({"cosine": {"DGI": "failed", "GCN": "failed"}}, axis="copy").axes) == 2


STYLES = {"GCN": Style("#123456", "*"), "SIGNNAP(GCN)": Style("#654321", "x")}
MEASURED = Line([2, 4, 6], [70.0, nan, 60.0], [1.0, nan, 2.0])


def test_deviations_are_bars_and_gaps_are_gaps():
    lines = {"GCN": MEASURED, "DGI": Line([2, 4, 6], [nan] * 3, [nan] * 3)}
    figure = curves([Panel("(a)", "layers", "accuracy, %", lines, ticks=(2, 4, 6))], styles=STYLES)
    (axes,) = figure.axes
    (errors,) = axes.containers
    line, _, (spread,) = errors
    assert line.get_xdata().tolist() == [2, 4, 6] and (line.get_color(), line.get_marker()) == STYLES["GCN"]
    assert line.get_ydata()[[0, 2]].tolist() == [70, 60] and isnan(line.get_ydata()[1])
    ends = [segment[:, 1].tolist() for segment in spread.get_segments() if len(segment)]
    assert ends == [[69, 71], [58, 62]]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("(a)", "layers", "accuracy, %")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "4", "6"]
    assert names(figure) == ["GCN"]


def test_values_are_dots_before_a_band():
    line = Line([64, 256], [80.0, 70.0], [1.0, 2.0], [[79.0, 81.0], [70.0]])
    panel = Panel("K", "K", "%", {"SIGNNAP(GCN)": line}, ticks=(64, 256, 1024), log=2, mark=256)
    figure = curves([panel], "A note.", mark="the paper's")
    (axes,) = figure.axes
    band, dots = axes.collections
    assert dots.get_offsets().tolist() == [[64, 79], [64, 81], [256, 70]]
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners == {(64, 79), (64, 81), (256, 68), (256, 72)}
    mean, marked = axes.lines
    assert mean.get_ydata().tolist() == [80, 70] and marked.get_xdata() == [256, 256]
    assert axes.get_xscale() == "log" and axes.xaxis.get_transform().base == 2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["64", "256", "1024"]
    assert axes.get_xlim()[0] < 64 and axes.get_xlim()[1] > 1024
    assert names(figure) == ["± standard deviation", "SIGNNAP(GCN), mean", "one encoder seed", "the paper's"]
    assert figure.get_supxlabel() == "A note."


def test_a_series_without_deviation_is_a_plain_curve():
    figure = curves([Panel("(b)", "iteration", "%", {"DGI": Line([1, 11], [30.0, 60.0])})])
    (line,) = figure.axes[0].lines
    assert line.get_xydata().tolist() == [[1, 30], [11, 60]] and line.get_marker() == "None"


def test_a_series_of_any_name_keeps_its_style_in_every_panel():
    one, other = Line([1, 2], [30.0, 60.0]), Line([1, 2], [20.0, 70.0], [1.0, 2.0])
    figure = curves([Panel("", "", "", {"GRACE": one, "MVGRL": other}), Panel("", "", "", {"MVGRL": one})])
    (grace, mvgrl, *_), (again,) = (axes.lines for axes in figure.axes)
    assert grace.get_color() != mvgrl.get_color() == again.get_color()
    figure = bars([Bars("", {"GRACE": {"32": (1.0, 0.1)}})], ["32"], x_label="", y_label="")
    assert names(figure) == ["GRACE"]


@pytest.mark.parametrize("lines", [{}, {"GCN": Line([2], [nan], [nan], [[]])}])
def test_a_panel_without_lines_says_why(lines):
    figure = curves([Panel("(a)", "layers", "%", lines, ticks=(2,), mark=2, absent="failed")])
    assert words(figure.axes[0]) == ["failed"] and names(figure) == []


def test_bars_stand_in_their_groups():
    heights = {"GCN": {"32": (70.0, 1.0), "64": (75.0, 2.0)}, "DGI": {}, "SIGNNAP(GCN)": {"64": (80.0, 0.5)}}
    panels = [Bars("pubmed", heights), Bars("facebook", {"GCN": {}}, "failed")]
    figure = bars(panels, ["32", "64"], "A note.", x_label="dimension", y_label="accuracy, %", styles=STYLES)
    axes, empty = figure.axes
    gcn, signnap = [group for group in axes.containers if hasattr(group, "patches")]
    assert [patch.get_height() for patch in gcn] == [70, 75] and [patch.get_height() for patch in signnap] == [80]
    middle = lambda patch: patch.get_x() + patch.get_width() / 2
    assert middle(gcn[0]) < 0 and 0.5 < middle(gcn[1]) < 1 < middle(signnap[0]) < 1.5
    assert signnap[0].get_facecolor()[:3] == to_rgb(STYLES["SIGNNAP(GCN)"].colour)
    ends = [segment[:, 1].tolist() for segment in gcn.errorbar[2][0].get_segments()]
    assert ends == [[69, 71], [73, 77]]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["32", "64"]
    assert axes.get_ylim()[0] == 65 and axes.get_xlabel() == "dimension" and axes.get_ylabel() == "accuracy, %"
    assert words(empty) == ["failed"] and names(figure) == ["GCN", "SIGNNAP(GCN)"]
    assert figure.get_supxlabel().replace("\n", " ") == "The axes of accuracy do not begin at zero. A note."


def test_an_axis_that_begins_at_zero_has_no_note():
    figure = bars([Bars("pubmed", {"GCN": {"32": (3.0, 1.0)}})], ["32"], x_label="", y_label="")
    assert figure.axes[0].get_ylim()[0] == 0 and figure.get_supxlabel() == ""


def test_a_deviation_that_is_not_known_has_no_bar():
    figure = bars(
        [Bars("pubmed", {"GCN": {"32": (70.0, nan), "64": (71.0, 2.0)}})], ["32", "64"], x_label="", y_label=""
    )
    (gcn,) = [group for group in figure.axes[0].containers if hasattr(group, "patches")]
    first, second = gcn.errorbar[2][0].get_segments()
    assert not first.size and second[:, 1].tolist() == [69, 73]


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 30) | st.just(nan)), min_size=1))
def test_every_deviation_is_inside_the_axis(known):
    low, high = _limits(known)
    known = [(mean, 0 if isnan(far) else far) for mean, far in known]
    lowest, highest = min(mean - far for mean, far in known), max(mean + far for mean, far in known)
    assert 0 <= low <= max(0, lowest - 1) and high >= highest + 0.5


def test_bars_of_a_group_are_centred_on_its_tick():
    heights = {name: {"32": (70.0, 1.0), "64": (75.0, 2.0)} for name in "ABCD"}
    (axes,) = bars([Bars("pubmed", heights)], ["32", "64"], x_label="", y_label="").axes
    groups = [group for group in axes.containers if hasattr(group, "patches")]
    middles = np.array([[patch.get_x() + patch.get_width() / 2 for patch in group] for group in groups])
    assert middles.mean(axis=0) == pytest.approx([0, 1]) and (np.diff(middles, axis=0) > 0).all()
