"""The paper's main table: every method on six graphs, by its protocol and by an honest one, beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ...evaluate import Summary, summarize
from ...methods.registry import method_class
from .. import markdown
from ..cells import Cell, Results
from ..paper import GRAPHS, ROWS, cell, reported

ABOUT = """
Test accuracy in % on the paper's splits. *Honest*: mean and standard deviation over {seeds} encoder seeds, each read by
several probes. *One encoder*: the first of these seeds alone, with the deviation over its probes, which is what the
paper reports. Networks with labels are their own classifiers, and have no such row. *Rank* is the mean place among
methods without labels over the graphs where all of them have a result. The best of those in a column is **bold**, the
second _slanted_.
"""


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [cell(name, graph) for graph in GRAPHS for name in ROWS]


def page(results: Results, seeds: int) -> str:
    """Both protocols and the paper's numbers in Markdown."""
    rows = {(name, graph): results.find(cell(name, graph), seeds) for name in ROWS for graph in GRAPHS}
    honest = {key: found for key, row in rows.items() if (found := markdown.over_encoders(row)) is not None}
    single = {key: summarize((rows[key] or {})["test"][0]) for key in honest if key[0] in unlabelled()}
    marks, ranks, lines = marked(honest), average_ranks(honest), []
    for name in ROWS:
        keys = [(name, graph) for graph in GRAPHS]
        first = [marks.get(key, "{}").format(markdown.shown(honest.get(key), rows[key], seeds)) for key in keys]
        lines.append([f"{name}: honest", *first, f"{ranks[name]:.2f}" if name in ranks else "–"])
        if name in unlabelled():
            lines.append(["one encoder", *(str(single.get(key, "–")) for key in keys), ""])
        lines.append(["the paper", *(_reported(name, graph) for graph in GRAPHS), _reported_rank(name)])
    return ABOUT.format(seeds=seeds).strip() + "\n\n" + markdown.table(["method", *GRAPHS, "rank"], lines)


def unlabelled(names: Sequence[str] = tuple(ROWS)) -> list[str]:
    """The rows that are ranked: methods that see no label."""
    return [name for name in names if not method_class(ROWS[name][0]).uses_labels]


def average_ranks(found: dict[tuple[str, str], Summary]) -> dict[str, float]:
    """The mean place of every unlabelled method that has a result on every graph, ties sharing the better place."""
    complete = [name for name in unlabelled() if all((name, graph) in found for graph in GRAPHS)]
    place = lambda name, graph: 1 + sum(found[other, graph].mean > found[name, graph].mean for other in complete)
    return {name: fmean(place(name, graph) for graph in GRAPHS) for name in complete}


def marked(found: dict[tuple[str, str], Summary]) -> dict[tuple[str, str], str]:
    """How to write the best and the second of each column among unlabelled methods."""
    marks: dict[tuple[str, str], str] = {}
    for graph in GRAPHS:
        present = [name for name in unlabelled() if (name, graph) in found]
        leaders = sorted(present, key=lambda name: -found[name, graph].mean)[:2]
        marks |= {(name, graph): mark for name, mark in zip(leaders, ("**{}**", "_{}_"), strict=False)}
    return marks


def _reported(name: str, graph: str) -> str:
    found = reported()["overall"].get(name, {}).get(graph)
    return "–" if found is None else "{:.2f} ± {:.2f}".format(*found)


def _reported_rank(name: str) -> str:
    rank = reported()["average_rank"].get(name)
    return "–" if rank is None else f"{rank:.2f}"
