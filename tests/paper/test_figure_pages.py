"""The pages of the paper's figures show every number at its place."""

import pytest
from made_rows import SHOWN, TWO, failed, looked, row, settings_of, table_of, tables_of

from signnap.evaluate import summarize
from signnap_paper import depth, representations, sweeps
from signnap_paper.paper import COMPARED, cell, reported


def lines_of(table):
    return {line[0]: line[1:] for line in table}


# -- depth -------------------------------------------------------------------------------------------------------------


def test_the_page_of_over_smoothing(results):
    panel = depth.smoothed_cell("DGI", 6)
    looks = looked(panel, 2.0, 2)
    looks["spread"][1] = {"distance": 4.0, "relative_distance": 0.5, "effective_rank": 7.0}
    results.add(panel, row(TWO, looks=looks))
    results.add(depth.smoothed_cell("GCN", 10), failed())
    found = tables_of(depth.OVERSMOOTHING.page(results, 2))
    layers = ["2 layers", "4 layers", "6 layers", "8 layers", "10 layers"]
    shown = {
        "test accuracy, %": SHOWN,
        "mean distance between nodes": "3.00 ± 1.41",
        "mean distance, relative to mean length": "1.75 ± 1.77",
        "effective rank": "5.50 ± 2.12",
    }
    assert [table[0] for table in found] == [[title, *layers] for title in shown]
    for table, text in zip(found, shown.values(), strict=True):
        assert [line[0] for line in table[1:]] == list(COMPARED)
        assert lines_of(table)["DGI"] == ["–", "–", text, "–", "–"]
        assert lines_of(table)["GCN"] == ["–"] * 4 + ["failed"]


def test_encoders_whose_nodes_coincide_are_named(results):
    panel = depth.smoothed_cell("SIGNNAP(GCN)", 10)
    assert "nearly one point" not in depth.OVERSMOOTHING.page(results, 2)
    looks = looked(panel, 2.0, 2)
    looks["spread"][1] = {"distance": 0.1, "relative_distance": 0.004, "effective_rank": 1.2}
    results.add(panel, row(TWO, looks=looks))
    said = "With 10 layers, 1 of 2 encoders of SIGNNAP(GCN) map all nodes to nearly one point, with accuracy"
    assert f"\n\n{said} 73.00 %.\n\n" in depth.OVERSMOOTHING.page(results, 2)


def test_the_page_of_over_fitting(results):
    panel = depth.fitted_cell("SIGNNAP(GCN)", 2)
    results.add(panel, row(TWO, looks=looked(panel, 2.0, 2)))
    table = table_of(depth.OVERFITTING.page(results, 3))
    assert lines_of(table)["SIGNNAP(GCN)"] == [f"{SHOWN} (2 seeds)", "–", "–", "–", "–"]
    curves = {each.looks for each in depth.OVERFITTING.recipe() if each.settings["layers"] > 2}
    assert curves == {()}
    assert [depth.fitted_cell(name, 2).looks for name in COMPARED] == [
        ("training-curves",), ("training-curves",), ("probe-curves",), ("probe-curves",)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("target", "graph"), [(depth.OVERSMOOTHING, "pubmed"), (depth.OVERFITTING, "facebook")], ids=["smooth", "fit"]
)
def test_layers_are_those_of_the_encoder(target, graph):
    cells = target.recipe()
    assert [settings_of(each).layers for each in cells] == [*depth.DEPTHS] * len(COMPARED)
    assert {each.graph for each in cells} == {graph}


# -- stability and maps ------------------------------------------------------------------------------------------------


def test_a_matrix_min_max_scaled():
    assert representations.normalized([[1.0, 0.5], [0.75, 1.0]]) == [[1.0, 0.0], [0.5, 1.0]]
    assert representations.normalized([[0.25, 0.25], [0.25, 0.25]]) == [[1.0, 1.0], [1.0, 1.0]]


def test_the_page_of_stability(results):
    one = {"matrix": [[1.0, 0.5], [0.5, 1.0]], "mean": 0.5, "centred": 0.125}
    other = {"matrix": [[1.0, 0.25, 0.5], [0.25, 1.0, 0.5], [0.5, 0.5, 1.0]], "mean": 0.25, "centred": 0.375}
    results.add(representations.stability_cell("DGI"), row(TWO, looks={"stability": [one, other]}))
    results.add(representations.stability_cell("SIGNNAP(GCN)"), failed())
    scaled = summarize([0.5, (3 + 4 / 3) / 9])
    table = lines_of(table_of(representations.STABILITY.page(results, 2)))
    assert table["method"] == ["cosine", "normalised", "the paper: normalised", "centred"]
    theirs = {name: f"{number:.3f}" for name, number in reported()["stability"].items()}
    assert table["DGI"] == [
        "0.375 ± 0.177", f"{scaled.mean:.3f} ± {scaled.std:.3f}", theirs["DGI"], "0.250 ± 0.177"
    ]  # fmt: skip
    assert table["SIGNNAP(GCN)"] == ["failed", "failed", theirs["SIGNNAP(GCN)"], "failed"]
    assert table["GCC, with features"] == ["–", "–", theirs["GCC"], "–"]


def test_the_page_of_maps(results):
    results.add(representations.mapped_cell("Raw"), row(TWO, looks=looked(representations.mapped_cell("Raw"), 0.25, 2)))
    results.add(representations.mapped_cell("DGI"), failed())
    theirs = {name: f"{number:.4f}" for name, number in reported()["silhouette"].items()}
    assert table_of(representations.TSNE.page(results, 2))[1:] == [
        ["Raw", "0.2500 ± 0.0000", theirs["Raw"]],
        ["DGI", "failed", theirs["DGI"]],
        ["GCC, with features", "–", theirs["GCC"]],
        ["SIGNNAP(GCN)", "–", theirs["SIGNNAP(GCN)"]],
    ]


# -- sweeps ------------------------------------------------------------------------------------------------------------


def test_the_page_of_hyper_parameters(results):
    results.add(cell("SIGNNAP(GCN)", "pubmed"), row(TWO))
    results.add(sweeps.swept_cell("drop_edge", 0.9), row([[50.0], [50.0]]))
    found = tables_of(sweeps.HYPERPARAMETERS.page(results, 2))
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
    for setting, values in sweeps.SWEEPS.items():
        assert getattr(paper, setting) == sweeps.PAPER[setting] and sweeps.PAPER[setting] in values
        swept = [settings_of(sweeps.swept_cell(setting, value)) for value in values]
        assert [getattr(each, setting) for each in swept] == list(values)
        for each in swept:
            assert {name for name, value in vars(each).items() if value != getattr(paper, name)} <= {setting}


def test_the_page_of_dimensions(results):
    results.add(cell("GCN", "facebook"), row(TWO))
    results.add(sweeps.width_cell("DGI", "facebook", 32), failed())
    found = tables_of(sweeps.DIMENSIONS.page(results, 2))
    assert [table[0] for table in found] == [[graph, "32", "64", "128", "256", "512"] for graph in sweeps.WIDTH_GRAPHS]
    lines = lines_of(found[1])
    assert lines["GCN"] == ["–", "–", SHOWN, "–", "–"] and lines["DGI"] == ["failed", "–", "–", "–", "–"]
    assert {text for table in (found[0], found[2]) for line in table[1:] for text in line[1:]} == {"–"}


def test_dimensions_are_those_of_the_embeddings():
    for graph in sweeps.WIDTH_GRAPHS:
        for name in COMPARED:
            swept = [sweeps.width_cell(name, graph, dim) for dim in sweeps.WIDTHS]
            assert [settings_of(each).dim for each in swept] == list(sweeps.WIDTHS)
            assert cell(name, graph) in swept
            assert all(getattr(settings_of(each), "hidden", None) in (None, settings_of(each).dim) for each in swept)
