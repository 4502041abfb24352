"""The paper's three properties of a trained model on a graph: stability, smoothness, identifiability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import Any

from torch import Tensor

from .. import rng
from ..analyze import identifiability, smoothness, stability
from ..graph import Graph
from ..methods.method import Method
from ..perturb import DropEdge
from ..train.progress import Report, silent


def properties(
    model: Method,
    graph: Graph,
    *,
    drop_edge: float = 0.3,
    copies: int = 10,
    seed: int = 0,
    nodes: Tensor | None = None,
    report: Report = silent,
) -> dict[str, Any]:
    """Embed freshly dropped copies of the graph and measure the three properties.

    ``nodes`` restricts the stability matrix to these nodes. ``report`` is called after each of the ``copies`` + 2
    dropped copies; the whole graph is embedded once, too.
    """
    view, drawn, made = model.view(graph), dropped_copies(model, graph, drop_edge, seed), count(1)

    def draw() -> Tensor:
        z = drawn()
        report(next(made))
        return z

    return {
        "stability": asdict(stability(draw, copies=copies, nodes=nodes)),
        "smoothness": asdict(smoothness(model.embed_view(view), view.pattern, rng.generator(seed, "pairs"))),
        "identifiability": asdict(identifiability(draw(), draw(), rng.generator(seed, "sample"))),
    }


def dropped_copies(model: Method, graph: Graph, drop_edge: float, seed: int) -> Callable[[], Tensor]:
    """Return a function that embeds a freshly dropped copy of the graph at every call."""
    view = model.view(graph)
    drop, source = DropEdge(drop_edge), rng.generator(seed, "analysis views", view.stored.device)
    return lambda: model.embed_view(drop(view, source))
