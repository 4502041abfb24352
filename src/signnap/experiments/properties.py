"""The paper's three properties of a trained model on a graph: stability, smoothness, identifiability."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .. import rng
from ..analyze import identifiability, smoothness, stability
from ..graph import Graph
from ..methods.method import Method
from ..perturb import DropEdge


def properties(
    model: Method,
    graph: Graph,
    *,
    drop_edge: float = 0.3,
    copies: int = 10,
    seed: int = 0,
    nodes: Tensor | None = None,
) -> dict[str, Any]:
    """Embed freshly dropped copies of the graph and measure; ``nodes`` restricts the stability matrix."""
    view = model.view(graph)
    drop, source = DropEdge(drop_edge), rng.generator(seed, "analysis views", view.stored.device)

    def draw() -> Tensor:
        return model.embed_view(drop(view, source))

    return {
        "stability": stability(draw, copies=copies, nodes=nodes).as_dict(),
        "smoothness": smoothness(model.embed_view(view), view.pattern, rng.generator(seed, "pairs")).as_dict(),
        "identifiability": identifiability(draw(), draw(), rng.generator(seed, "sample")).as_dict(),
    }
