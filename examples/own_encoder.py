"""Trains an encoder of your own: any module with forward(x, edge_index), here PyG's GIN."""

import numpy as np
from torch_geometric.nn.models import GIN

from signnap import SIGNNAP, load_graph

graph = load_graph("synthetic")


def encoder(features: int) -> GIN:
    return GIN(in_channels=features, hidden_channels=32, num_layers=2, out_channels=32)


# A function lets each seed draw its own weights. backbone also accepts a module, whose weights all seeds start from.
model = SIGNNAP(backbone=encoder, negatives=256, iterations=30).fit(graph)
z = model.transform(graph)
print(f"{len(z):,} embeddings of width {z.shape[1]}, last loss {model.outcome_.numbers['loss']:.3f}")

# A saved model holds weights and settings but no code: loading needs the function again.
model.save("gin")
again = SIGNNAP.load("gin", backbone=encoder)
# On a GPU, PyG adds up messages in any order, so the last digits differ between calls.
print("loaded model agrees:", np.allclose(again.transform(graph), z, rtol=1e-3, atol=1e-4))
