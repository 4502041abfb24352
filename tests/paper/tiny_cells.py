"""Small cells on a small graph, and a direct computation of their numbers."""

from dataclasses import replace

import torch

from signnap import method_class
from signnap.data.splits import make_split
from signnap.data.synthetic import synthetic_graph
from signnap.evaluate import score
from signnap.methods.settings import probe_weight_decay
from signnap_paper.cells import Cell
from signnap_paper.runner import run_cells

GRAPH = synthetic_graph(nodes=240, communities=3, words=60)
SPLIT = "per-class:10:10"
SEEDS = 2  # of every encoder, unless a test says otherwise
TINY = {
    "raw": {},
    "dgi": {"dim": 8, "hidden": 8, "iterations": 3},
    "deepwalk": {"dim": 8, "iterations": 3, "walks": 1, "length": 8, "window": 2},
    "signnap": {"dim": 8, "negatives": 16, "iterations": 3},
    "supervised": {"dim": 8, "iterations": 3, "split": SPLIT},
}


def tiny(method="raw", graph="synthetic", settings=None, **rules):
    rules = {"split": SPLIT, "probe": "logistic", "probe_seeds": 1} | rules
    return Cell(method, graph, TINY[method] | (settings or {}), **rules)


def fill(cells, results, **options):
    return run_cells(cells, results, **{"device": "cpu", "seeds": SEEDS} | options)


def whole(told):
    """Return a report function that keeps the number and words of completed cells only."""

    def report(done, words):
        if done == int(done) and not (told and told[-1][0] == done):
            told.append((done, words))

    return report


def by_hand(cell, number):
    """Compute the score of one encoder directly."""
    graph = replace(GRAPH, name=cell.graph)
    z = torch.from_numpy(method_class(cell.method)(**cell.settings, seed=number).fit_transform(graph, device="cpu"))
    parts = make_split(graph, cell.split, seed=number if cell.redrawn else 0)
    decay = probe_weight_decay(cell.graph)
    options = {"probe": cell.probe, "seeds": range(cell.probe_seeds), "weight_decay": decay}
    return score([z], graph.y, parts.train, parts.val, parts.test, **options)


def numbers(row):
    return row["test"], row["val"]


def expected(cell, seeds=SEEDS):
    found = [by_hand(cell, number) for number in range(seeds)]
    return [f.runs[0] for f in found], [f.val_runs[0] for f in found]
