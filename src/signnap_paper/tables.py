"""The paper's tables: data sets, the main table, perturbations; and the grid of settings that the paper leaves open."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import Any

from signnap.evaluate import Summary, plus_minus, summarize

from . import summaries
from .cells import Cell
from .paper import GRAPHS, OURS, ROWS, UNLABELLED, cell, read_alike, reported
from .results import Results
from .targets import Target

# -- table-datasets: computed from the graphs as they are loaded -------------------------------------------------------

_COUNTS = ("nodes", "edges", "density", "classes", "features", "label rate", "train", "val", "test")
_DATASETS_HEAD = """
Edges are undirected and counted once, without self-loops. Density is their number over the square of that of nodes, as
the paper has it, and the label rate is the share of training nodes. In brackets: the paper, where it differs.
"""


def counts(name: str) -> dict[str, float]:
    """Count what a graph and its split consist of; shares are in %."""
    from signnap.data.load import load_graph
    from signnap.data.splits import make_split

    graph = load_graph(name)
    parts = make_split(graph, "paper")
    nodes, edges = graph.num_nodes, graph.num_edges
    return {
        "nodes": nodes, "edges": edges, "density": 100 * edges / nodes**2, "classes": graph.num_classes,
        "features": graph.num_features, "label rate": 100 * len(parts.train) / nodes,
        **{part: len(getattr(parts, part)) for part in ("train", "val", "test")},
    }  # fmt: skip


def datasets_page() -> str:
    """Show our counts, with the paper's in brackets where they differ."""
    lines = []
    for name in GRAPHS:
        ours, theirs = counts(name), reported()["datasets"][name]
        lines.append([name, *(beside(ours[what], theirs[what]) for what in _COUNTS)])
    return f"{_DATASETS_HEAD.strip()}\n\n{summaries.table(['graph', *_COUNTS], lines)}"


def beside(ours: float, theirs: float | str) -> str:
    """Return our count, with the paper's in brackets where they differ as written."""
    written, reported = map(_written, (ours, theirs))
    return written if reported in (written, "rest") else f"{written} ({reported})"


def _written(number: float | str) -> str:
    """Write a count, a share in %, or a word."""
    return f"{number:.2f} %" if isinstance(number, float) else f"{number:,}" if isinstance(number, int) else number


DATASETS = Target(list, lambda results, seeds: datasets_page())

# -- table-overall: every method on six graphs, by the paper's protocol and over encoder seeds -------------------------

_KEYS = [(name, graph) for name in ROWS for graph in GRAPHS]
_OVERALL_HEAD = """
Test accuracy in % on the paper's splits. *Honest*: mean and standard deviation over {seeds} encoder seeds, each read by
several probes. *One encoder*: the first of these seeds alone, with the deviation over its probes, which is what the
paper reports. *Read alike*: encoders of the same settings and seeds, all read by logistic regression on rows of length
one; otherwise SIGNNAP and DGI have the probes that the paper gives them, and everybody else a plain linear layer, which
suits some embeddings better than others. Networks with labels are their own classifiers, and have no such rows. On
coauthor_physics encoders are trained on the training nodes alone, but for DeepWalk, Node2Vec and ARWMF, which embed
only what they were trained on. *Rank* is the mean place among methods without labels that have a result on every graph:
ours among {ours}, the paper's among {theirs}, as it is printed there, which does not follow from its accuracies for all
(DeepWalk's would be {deepwalk:.2f}).
The best of those in a column is **bold**, the second _slanted_.
"""


def _overall_cells() -> list[Cell]:
    alike = lambda name, graph: [read_alike(name, graph)] if name in UNLABELLED else []
    return [each for graph in GRAPHS for name in ROWS for each in (cell(name, graph), *alike(name, graph))]


def overall_page(results: Results, seeds: int) -> str:
    """Show accuracies by both protocols, and the paper's."""
    honest, alike = ({key: results.find(made(*key), seeds) for key in _KEYS} for made in (cell, read_alike))
    honest_lines, alike_lines = _ranked_lines(honest, seeds), _ranked_lines(alike, seeds)
    lines = []
    for name in ROWS:
        lines.append([f"{name}: honest", *honest_lines[name]])
        if name in UNLABELLED:
            rows = [honest[name, graph] for graph in GRAPHS]
            first = ["–" if row is None or "error" in row else str(summarize(row["test"][0])) for row in rows]
            lines += [["one encoder", *first, ""], ["read alike", *alike_lines[name]]]
        lines.append(["the paper", *(_reported(name, graph) for graph in GRAPHS), _reported_rank(name)])
    ranked = sum(line[-1] not in ("", "–") for line in honest_lines.values())
    return f"{_overall_head(seeds, ranked)}\n\n{summaries.table(['method', *GRAPHS, 'rank'], lines)}"


def _overall_head(seeds: int, ranked: int) -> str:
    printed = reported()["average_rank"]
    figures = {(name, graph): summarize(reported()["overall"][name][graph][:1]) for name in printed for graph in GRAPHS}
    deepwalk = average_ranks(figures)["DeepWalk"]
    return _OVERALL_HEAD.format(seeds=seeds, ours=ranked, theirs=len(printed), deepwalk=deepwalk).strip()


def _ranked_lines(rows: dict[tuple[str, str], dict[str, Any] | None], seeds: int) -> dict[str, list[str]]:
    """Return the accuracies of every method with the leaders marked, and its rank."""
    found = {key: mean for key, row in rows.items() if (mean := summaries.over_encoders(row)) is not None}
    marks, ranks = marked(found), average_ranks(found)
    shown = lambda key: marks.get(key, "{}").format(summaries.shown(rows[key], seeds))
    rank = lambda name: f"{ranks[name]:.2f}" if name in ranks else "–"
    return {name: [*(shown((name, graph)) for graph in GRAPHS), rank(name)] for name in ROWS}


def average_ranks(found: dict[tuple[str, str], Summary]) -> dict[str, float]:
    """Return the mean place of each unlabelled method with a result on every graph; ties share the better place."""
    complete = [name for name in UNLABELLED if all((name, graph) in found for graph in GRAPHS)]
    place = lambda name, graph: 1 + sum(found[other, graph].mean > found[name, graph].mean for other in complete)
    return {name: fmean(place(name, graph) for graph in GRAPHS) for name in complete}


def marked(found: dict[tuple[str, str], Summary]) -> dict[tuple[str, str], str]:
    """Return how to write the best and the second of each column among unlabelled methods."""
    marks: dict[tuple[str, str], str] = {}
    for graph in GRAPHS:
        present = [name for name in UNLABELLED if (name, graph) in found]
        leaders = sorted(present, key=lambda name: -found[name, graph].mean)[:2]
        marks |= {(name, graph): mark for name, mark in zip(leaders, ("**{}**", "_{}_"), strict=False)}
    return marks


def _reported(name: str, graph: str) -> str:
    found = reported()["overall"].get(name, {}).get(graph)
    return "–" if found is None else plus_minus(*found)


def _reported_rank(name: str) -> str:
    rank = reported()["average_rank"].get(name)
    return "–" if rank is None else f"{rank:.2f}"


OVERALL = Target(_overall_cells, overall_page)

# -- table-perturbations: which change of the graph makes the most accurate SIGNNAP? -----------------------------------

#: The scale by which the paper multiplies noise.
_SCALE = 0.01
_NOISE = {kind: f"{kind.lower()}:{_SCALE}" for kind in ("Gaussian", "Laplace", "Uniform")}
#: The rows of the paper's table, as changes to SIGNNAP(GCN).
PERTURBED: dict[str, dict[str, Any]] = {
    "DropEdge": {},
    **{kind: {"noise": noise, "drop_edge": 0.0} for kind, noise in _NOISE.items()},
    **{f"DropEdge+{kind}": {"noise": noise} for kind, noise in _NOISE.items()},
}


def perturbed_cell(name: str, graph: str) -> Cell:
    """Return SIGNNAP(GCN) trained with that perturbation."""
    return cell(OURS, graph, **PERTURBED[name])


def _perturbed_cells() -> list[Cell]:
    return [perturbed_cell(name, graph) for graph in GRAPHS for name in PERTURBED]


def _perturbations_page(results: Results, seeds: int) -> str:
    """Show mean and standard deviation over encoder seeds, with the paper's single number below each."""
    lines = []
    for name in PERTURBED:
        rows = [results.find(perturbed_cell(name, graph), seeds) for graph in GRAPHS]
        lines.append([name, *(summaries.shown(row, seeds) for row in rows)])
        lines.append(["the paper", *(f"{reported()['perturbations'][name][graph]:.2f}" for graph in GRAPHS)])
    head = f"{OURS}, test accuracy in % on the paper's splits, mean ± deviation over {seeds} encoder seeds.\n\n"
    return head + summaries.table(["perturbation", *GRAPHS], lines)


PERTURBATIONS = Target(_perturbed_cells, _perturbations_page, seeds=3)

# -- table-grid: settings where authors give none, chosen by validation accuracy and kept in the preset ----------------

_RATES = ("drop_edge", "drop_edge_2", "mask_features", "mask_features_2")
_BY_TEMPERATURE = [{"lr": lr, "temperature": t} for lr, t in product((1e-3, 1e-2), (0.4, 0.7))]
_BY_RATE = [{"lr": lr, **dict.fromkeys(_RATES, rate)} for lr, rate in product((1e-4, 1e-3), (0.1, 0.3, 0.5, 0.7))]
#: Row of the paper -> the graphs for which its authors give nothing, the iterations of a try, and the settings tried.
GRIDS: dict[str, tuple[tuple[str, ...], int, list[dict[str, Any]]]] = {
    "GRACE": (("facebook",), 300, _BY_TEMPERATURE),
    "BGRL": (("pubmed", "facebook"), 2000, _BY_RATE),
    "G-BT": (("pubmed", "facebook"), 1000, _BY_RATE),
    "GCA": (("pubmed", "facebook"), 300, _BY_TEMPERATURE),
}


def grid_cell(name: str, graph: str, tried: dict[str, Any]) -> Cell:
    """Return a method with settings of the grid and the iterations of a try."""
    return cell(name, graph, iterations=GRIDS[name][1], **tried)


def _grid_cells() -> list[Cell]:
    return [grid_cell(name, g, tried) for name, (graphs, _, grid) in GRIDS.items() for g in graphs for tried in grid]


def best_of_grid(results: Results, name: str, graph: str, seeds: int) -> dict[str, Any] | None:
    """Return the settings with the highest mean validation accuracy, once all have been tried."""
    grid = GRIDS[name][2]
    rows = [results.find(grid_cell(name, graph, tried), seeds) for tried in grid]
    means = [found.mean for row in rows if (found := summaries.over_encoders(row, summaries.validation)) is not None]
    return grid[means.index(max(means))] if len(means) == len(grid) else None


def _grid_page(results: Results, seeds: int) -> str:
    """Show every try; the chosen one is bold."""
    lines = []
    for name, (graphs, iterations, grid) in GRIDS.items():
        for graph, tried in product(graphs, grid):
            row = results.find(grid_cell(name, graph, tried), seeds)
            shown = summaries.shown(row, seeds, summaries.validation)
            chosen = tried == best_of_grid(results, name, graph, seeds)
            words = ", ".join(f"{setting} {value}" for setting, value in tried.items())
            lines.append([name, graph, f"{iterations:,}", words, f"**{shown}**" if chosen else shown])
    head = f"Validation accuracy in % on the paper's splits, over {seeds} encoder seed{'s' if seeds > 1 else ''}.\n\n"
    return head + summaries.table(["method", "graph", "iterations", "settings", "accuracy"], lines)


GRID = Target(_grid_cells, _grid_page, seeds=1)
