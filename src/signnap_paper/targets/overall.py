"""The paper's main table: every method on six graphs, by its protocol and by an honest one, beside its numbers."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from signnap.evaluate import Summary, plus_minus, summarize
from signnap.methods.registry import method_class

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, ROWS, cell, read_alike, reported
from ..results import Results

KEYS = [(name, graph) for name in ROWS for graph in GRAPHS]
ABOUT = """
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


def recipe() -> list[Cell]:
    """All cells, graph by graph."""
    return [each for graph in GRAPHS for name in ROWS for each in _cells(name, graph)]


def _cells(name: str, graph: str) -> list[Cell]:
    return [cell(name, graph), *([read_alike(name, graph)] if name in unlabelled() else [])]


def page(results: Results, seeds: int) -> str:
    """Both protocols and the paper's numbers in Markdown."""
    honest, alike = ({key: results.find(made(*key), seeds) for key in KEYS} for made in (cell, read_alike))
    honest_lines, alike_lines = _lines(honest, seeds), _lines(alike, seeds)
    lines = []
    for name in ROWS:
        lines.append([f"{name}: honest", *honest_lines[name]])
        if name in unlabelled():
            rows = [honest[name, graph] for graph in GRAPHS]
            first = ["–" if row is None or "error" in row else str(summarize(row["test"][0])) for row in rows]
            lines += [["one encoder", *first, ""], ["read alike", *alike_lines[name]]]
        lines.append(["the paper", *(_reported(name, graph) for graph in GRAPHS), _reported_rank(name)])
    ranked = sum(line[-1] not in ("", "–") for line in honest_lines.values())
    return f"{_about(seeds, ranked)}\n\n{markdown.table(['method', *GRAPHS, 'rank'], lines)}"


def _about(seeds: int, ranked: int) -> str:
    """What the table means; how many are ranked, and what the paper's accuracies would make of one of its ranks."""
    printed = reported()["average_rank"]
    figures = {(name, graph): summarize(reported()["overall"][name][graph][:1]) for name in printed for graph in GRAPHS}
    deepwalk = average_ranks(figures)["DeepWalk"]
    return ABOUT.format(seeds=seeds, ours=ranked, theirs=len(printed), deepwalk=deepwalk).strip()


def _lines(rows: dict[tuple[str, str], dict[str, Any] | None], seeds: int) -> dict[str, list[str]]:
    """For every method its accuracies with the leaders marked, and its rank."""
    found = {key: mean for key, row in rows.items() if (mean := markdown.over_encoders(row)) is not None}
    marks, ranks = marked(found), average_ranks(found)
    shown = lambda key: marks.get(key, "{}").format(markdown.shown(rows[key], seeds))
    rank = lambda name: f"{ranks[name]:.2f}" if name in ranks else "–"
    return {name: [*(shown((name, graph)) for graph in GRAPHS), rank(name)] for name in ROWS}


def unlabelled() -> list[str]:
    """The rows that are ranked: methods that see no label."""
    return [name for name in ROWS if not method_class(ROWS[name][0]).uses_labels]


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
    return "–" if found is None else plus_minus(*found)


def _reported_rank(name: str) -> str:
    rank = reported()["average_rank"].get(name)
    return "–" if rank is None else f"{rank:.2f}"
