"""Measures and draws the picture of the README: accuracy and stability against the share of removed edges.

    python docs/removed_edges.py           # measures (about two minutes on two cores), then draws
    python docs/removed_edges.py --draw    # draws the measured numbers again

The graph is the generated one (3,000 nodes, 20 % of the edges spurious). Encoders and classifiers are trained on the
whole graph. Accuracy: the classifier reads each test node from a copy of the graph that lost the given share of its
edges. Stability: the mean cosine between the embeddings of a node in ten such copies, after the mean embedding is
subtracted. Needs the extra `paper` (matplotlib).
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from signnap import SIGNNAP, DropEdge, load_graph, make_split, score, stability
from signnap_paper.provenance import provenance

HERE = Path(__file__).parent
SHARES = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
COLOURS = {"SIGNNAP": "#00796b", "untrained encoder": "#e08214", "raw features": "#7f7f7f"}


def measure(seeds: list[int], shares: list[float], iterations: int) -> dict[str, Any]:
    """Accuracy and stability by method, with one list per encoder seed and one number per share of removed edges."""
    graph = load_graph("synthetic")
    split = make_split(graph, "per-class:20:30")
    x = graph.view().x
    raw = score([x], graph.y, split.train, split.val, split.test).accuracy.mean
    found: dict[str, Any] = {"raw features": {"accuracy": [[raw] * len(shares)], "stability": [[1.0] * len(shares)]}}
    for seed in seeds:
        trained = SIGNNAP(iterations=iterations, seed=seed).fit(graph)
        for name, model in {"untrained encoder": trained.untrained(graph), "SIGNNAP": trained}.items():
            curves = found.setdefault(name, {"accuracy": [], "stability": []})
            points = [_point(model, graph, split, share, seed) for share in shares]
            curves["accuracy"].append([accuracy for accuracy, _ in points])
            curves["stability"].append([steadiness for _, steadiness in points])
    return {"graph": "synthetic", "split": "per-class:20:30", "iterations": iterations, "encoder_seeds": seeds,
            "removed": shares, "methods": found, **provenance()}  # fmt: skip


def _point(model: SIGNNAP, graph: Any, split: Any, share: float, seed: int) -> tuple[float, float]:
    view, drop = model.view(graph), DropEdge(share, "undirected")
    source = torch.Generator(view.pattern.device).manual_seed(seed)

    def draw() -> torch.Tensor:
        return model.embed_view(drop(view, source)).cpu()

    whole, thinned = model.embed_view(view).cpu(), draw()
    tested = torch.isin(torch.arange(len(whole)), split.test)[:, None]
    z = torch.where(tested, thinned, whole)
    accuracy = score([z], graph.y, split.train, split.val, split.test).accuracy.mean
    return accuracy, stability(draw).centred


def draw(found: dict[str, Any], out: Path) -> None:
    """Two panels beside each other; a line is the mean over encoder seeds, its band their range."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.hashsalt": "signnap", "font.size": 10, "axes.spines.top": False})
    pyplot.rcParams["axes.spines.right"] = False
    figure, panels = pyplot.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
    removed = [100 * share for share in found["removed"]]
    for panel, number in zip(panels, ("accuracy", "stability"), strict=True):
        for name, colour in COLOURS.items():
            curves = list(zip(*found["methods"][name][number], strict=True))
            means = [sum(values) / len(values) for values in curves]
            style = "--" if name == "raw features" else "-"
            panel.plot(removed, means, style, color=colour, linewidth=2, label=name)
            panel.fill_between(removed, [*map(min, curves)], [*map(max, curves)], color=colour, alpha=0.2, linewidth=0)
        panel.set_xlabel("removed edges, %")
        panel.grid(axis="y", alpha=0.25)
    panels[0].set_title("Accuracy of a linear classifier, %", loc="left", fontsize=10)
    panels[1].set_title("Stability (centred cosine between copies)", loc="left", fontsize=10)
    panels[0].set_ylim(0, 100)
    panels[1].set_ylim(0.7, 1.01)
    panels[1].legend(loc="lower left", frameon=False)
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", action="store_true", help="draw removed_edges.json again, without measuring")
    parser.add_argument("--out", type=Path, default=HERE, help="folder of removed_edges.json and removed_edges.svg")
    parser.add_argument("--quick", action="store_true", help="two shares, one seed, two iterations")
    given = parser.parse_args()
    numbers = given.out / "removed_edges.json"
    if not given.draw:
        size = ([0], [0.0, 0.5], 2) if given.quick else ([0, 1, 2], SHARES, 400)
        numbers.write_text(json.dumps(measure(*size), indent=1) + "\n", "utf-8")
    draw(json.loads(numbers.read_text("utf-8")), given.out / "removed_edges.svg")
