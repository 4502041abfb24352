"""Trains on the generated graph, then measures accuracy and stability, before and after training."""

import torch

from signnap import SIGNNAP, DropEdge, load_graph, make_split, score, stability

graph = load_graph("synthetic")
print(graph)

# Labels are removed before training; only score reads them.
model = SIGNNAP(dim=64, negatives=256, lr=0.002, iterations=250).fit(graph)
untrained = model.untrained(graph)
split = make_split(graph, "per-class:20:30")

for name, candidate in {"untrained": untrained, "trained": model}.items():
    accuracy = score([candidate.transform(graph)], graph.y, split.train, split.val, split.test).accuracy

    view, drop = candidate.view(graph), DropEdge(0.3)
    source = torch.Generator(view.pattern.device).manual_seed(0)
    still = stability(lambda c=candidate, v=view, d=drop, s=source: c.embed_view(d(v, s)), copies=3)
    print(f"{name}: accuracy {accuracy} %, stability {still.mean:.3f} (centred {still.centred:.3f})")
