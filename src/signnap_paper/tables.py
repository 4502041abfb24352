"""The paper's tables: data sets, the main table, perturbations; and the grid of settings that the paper leaves open."""

from __future__ import annotations

from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

from signnap.evaluate import Summary, plus_minus, summarize

from . import summaries
from .cells import Cell
from .paper import GRAPHS, OURS, ROWS, UNLABELLED, cell, reported, same_probe_cell
from .plots import dots
from .results import Results
from .targets import Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# -- table-datasets: computed from the graphs as they are loaded -------------------------------------------------------

_COUNTS = ("nodes", "edges", "density", "classes", "features", "label rate", "train", "val", "test")
_DATASETS_HEAD = """
Edges are undirected and counted once, without self-loops. Density is the number of edges over the squared number of
nodes, as in the paper. Label rate is the share of training nodes. In brackets: the paper's number, where it differs.
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


DATASETS = Target(list, lambda results, seeds: datasets_page(), title="Data sets: our counts and the paper's")

# -- table-overall: every method on six graphs, by the paper's protocol and over encoder seeds -------------------------

_KEYS = [(name, graph) for name in ROWS for graph in GRAPHS]
_OVERALL_HEAD = """
Test accuracy in % on the paper's splits.

- *Across seeds*: mean and standard deviation over {seeds} encoder seeds. Several probes read each encoder. As in the
  paper, SIGNNAP and DGI have probes of their own; all other methods have a plain linear layer, which suits some
  embeddings better than others.
- *First seed*: the encoder of the first seed alone, with the deviation over its probes. The paper reports this number.
- *Same probe*: encoders with the same settings and seeds, all read by logistic regression on embeddings scaled to unit
  length.
- *Rank*: mean rank among the methods without labels that have a result on every graph, {ours} here and {theirs} in the
  paper. The paper's ranks are quoted as printed; some do not follow from its accuracies (DeepWalk's would be
  {deepwalk:.2f}).

Networks with labels classify by themselves, so the lines for probes are missing. On coauthor_physics, encoders are
trained on the training nodes alone. DeepWalk, Node2Vec and ARWMF cannot embed new nodes and are trained on the whole
graph. Among methods without labels, the best of a column is **bold** and the second _slanted_.
"""


def _overall_cells() -> list[Cell]:
    same = lambda name, graph: [same_probe_cell(name, graph)] if name in UNLABELLED else []
    return [each for graph in GRAPHS for name in ROWS for each in (cell(name, graph), *same(name, graph))]


def overall_page(results: Results, seeds: int) -> str:
    """Show accuracies by both protocols, and the paper's."""
    own, same = ({key: results.find(made(*key), seeds) for key in _KEYS} for made in (cell, same_probe_cell))
    own_lines, same_lines = _ranked_lines(own, seeds), _ranked_lines(same, seeds)
    lines = []
    for name in ROWS:
        lines.append([f"{name}: across seeds", *own_lines[name]])
        if name in UNLABELLED:
            rows = [own[name, graph] for graph in GRAPHS]
            first = ["–" if row is None or "error" in row else str(summarize(row["test"][0])) for row in rows]
            lines += [["first seed", *first, ""], ["same probe", *same_lines[name]]]
        lines.append(["the paper", *(_reported(name, graph) for graph in GRAPHS), _reported_rank(name)])
    ranked = sum(line[-1] not in ("", "–") for line in own_lines.values())
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


OVERALL = Target(_overall_cells, overall_page, title="Test accuracy of every method on six graphs")

# -- figure-ranks: the mean ranks of that table, the paper's beside ours -----------------------------------------------

#: What is ranked, in the order of the columns.
_RANKED = ("the paper", "ours, the paper's probes", "ours, same probe")


def _all_ranks(results: Results, seeds: int) -> dict[str, dict[str, float]]:
    """Return the mean ranks of methods without labels by kind; a method without a result on every graph has none."""
    ranks: dict[str, dict[str, float]] = {_RANKED[0]: reported()["average_rank"]}
    for kind, made in zip(_RANKED[1:], (cell, same_probe_cell), strict=True):
        rows = {(name, graph): results.find(made(name, graph), seeds) for name in UNLABELLED for graph in GRAPHS}
        found = {key: mean for key, row in rows.items() if (mean := summaries.over_encoders(row)) is not None}
        ranks[kind] = average_ranks(found)
    return ranks


def _by_rank(ranks: dict[str, dict[str, float]]) -> list[str]:
    """Return the methods without labels, the best with one probe for all first."""
    return sorted(UNLABELLED, key=lambda name: ranks[_RANKED[-1]].get(name, len(UNLABELLED)))


def _ranks_page(results: Results, seeds: int) -> str:
    """Show the mean ranks."""
    ranks = _all_ranks(results, seeds)
    shown = lambda name: [f"{each[name]:.2f}" if name in each else "–" for each in ranks.values()]
    head = (
        f"Mean rank by accuracy over six graphs among the methods without labels (1 is best), from means over {seeds} "
        "encoder seeds. [table-overall](table-overall.md) has the accuracies.\n\n"
    )
    return head + summaries.table(["method", *ranks], [[name, *shown(name)] for name in _by_rank(ranks)])


def _ranks_figure(results: Results, seeds: int) -> Figure:
    """Draw the mean ranks as dots, a line for each method."""
    ranks = _all_ranks(results, seeds)
    note = "" if ranks[_RANKED[-1]] else "Ours – not run."
    return dots(ranks, _by_rank(ranks), note, x_label="mean rank over six graphs (1 is best)")


RANKS = Target(list, _ranks_page, _ranks_figure, title="Mean ranks of the methods without labels")

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
    head = (
        f"{OURS}, test accuracy in % on the paper's splits, mean ± standard deviation over {seeds} encoder seeds. The "
        "paper has one number for each.\n\n"
    )
    return head + summaries.table(["perturbation", *GRAPHS], lines)


PERTURBATIONS = Target(_perturbed_cells, _perturbations_page, seeds=3, title="SIGNNAP with seven perturbations")

# -- table-grid: settings where authors give none; validation accuracy chooses, and the preset keeps them --------------

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
    head = (
        f"Validation accuracy in % on the paper's splits, over {seeds} encoder seed{'s' if seeds > 1 else ''}. The "
        "authors of these methods give no settings for these graphs, so we chose the settings in bold.\n\n"
    )
    return head + summaries.table(["method", "graph", "iterations", "settings", "accuracy"], lines)


GRID = Target(_grid_cells, _grid_page, seeds=1, title="Settings that validation accuracy chose")
