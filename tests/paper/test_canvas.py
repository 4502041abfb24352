"""Figure files, their style, and their notes."""

import sys

import matplotlib
import pytest

from signnap.errors import SignnapError
from signnap_paper import plots as module
from signnap_paper.plots import Style, add_legend, canvas, plot_style, save, series_styles, write_below, write_inside


def drawn():
    with plot_style():
        figure = canvas(5, 2)
        for number, axes in enumerate(figure.subplots(1, 2)):
            axes.plot([0, 1], [number, 2], label="both")
            axes.scatter([0, 1], [1, 1], rasterized=True)
            axes.set_ylabel("a label")
        add_legend(figure)
        write_below(figure, "A note.")
    return figure


def test_png_and_svg_contain_no_date(tmp_path):
    written = save(drawn(), tmp_path / "deep" / "figure-a.b")
    assert written == [tmp_path / "deep" / "figure-a.b.png", tmp_path / "deep" / "figure-a.b.svg"]
    assert sorted(tmp_path.glob("deep/*")) == written
    assert written[0].read_bytes().startswith(b"\x89PNG") and b"<svg" in written[1].read_bytes()
    assert not any(word in path.read_bytes() for path in written for word in (b"Matplotlib v", b"<dc:date>"))


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    figure = drawn()
    first = [path.read_bytes() for path in save(figure, tmp_path / "first")]
    assert [path.read_bytes() for path in save(figure, tmp_path / "again")] == first
    assert [path.read_bytes() for path in save(drawn(), tmp_path / "anew")] == first


def test_settings_of_the_user_are_neither_used_nor_changed(tmp_path):
    first = [path.read_bytes() for path in save(drawn(), tmp_path / "first")]
    theirs = {"font.size": 20, "lines.linewidth": 9, "savefig.dpi": 30, "axes.facecolor": "red"}
    with matplotlib.rc_context(theirs):
        assert [path.read_bytes() for path in save(drawn(), tmp_path / "theirs")] == first
        assert {name: matplotlib.rcParams[name] for name in theirs} == theirs


def test_a_series_is_named_once():
    (legend,) = drawn().legends
    assert [text.get_text() for text in legend.texts] == ["both"]
    bare = canvas(1, 1)
    bare.subplots().plot([1, 2])
    add_legend(bare)
    assert bare.legends == []


def test_a_note_is_wrapped_and_leaves_the_panels_their_size():
    figure = canvas(2, 1)
    write_below(figure, "")
    assert figure.get_figheight() == 1 and figure.get_supxlabel() == ""
    write_below(figure, "word " * 30)
    lines = figure.get_supxlabel().splitlines()
    assert len(lines) > 2 and " ".join(lines).split() == ["word"] * 30
    assert figure.get_figheight() > 1 + 0.1 * len(lines)


def test_a_note_stays_inside_the_figure():
    figure = canvas(4, 1)
    write_below(figure, "SIGNNAP(GCN) 1024, DropEdge(GCN) 512; " * 8)
    figure.draw_without_rendering()
    assert figure._supxlabel.get_window_extent().x1 <= figure.bbox.x1


def test_an_empty_panel_says_why():
    axes = canvas(1, 1).subplots()
    write_inside(axes, "failed")
    assert [text.get_text() for text in axes.texts] == ["failed"]
    assert list(axes.get_xticks()) == list(axes.get_yticks()) == []


def test_colours_differ():
    assert len(set(module.COLOURS)) == len(module.COLOURS)
    assert len(set(module._MARKERS)) == len(module._MARKERS) == len(module.COLOURS)


def test_styles_are_the_given_ones_or_the_next_unused():
    own = Style(module.COLOURS[0], "x")
    found = series_styles(["GRACE", "ours", "GRACE", "MVGRL"], {"ours": own, "another": own})
    assert list(found) == ["GRACE", "ours", "MVGRL"] and found["ours"] == own
    assert [found[name].colour for name in ("GRACE", "MVGRL")] == [*module.COLOURS[1:3]]
    many = [str(number) for number in range(len(module.COLOURS) + 1)]
    assert series_styles(many, None)[many[-1]] == series_styles(many, None)["0"]
    assert len({*series_styles(many[:-1], {"0": own}).values()}) == len(module.COLOURS)


def test_without_matplotlib_the_error_is_one_sentence(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SignnapError, match=r"^figures need matplotlib, .*clone, pip install '\.\[paper\]'$"):
        canvas(1, 1)
