"""Embeds a graph from two CSV files, finds similar nodes, and writes rows with the ids of the files.

edges.csv: pairs of products that were bought together, 20 % of them at random. nodes.csv: the words in each product's
name, and its department (the column `class`), which training does not see. Both files are invented.
"""

import tempfile
from pathlib import Path

import numpy as np

from signnap import SIGNNAP, load_graph, score_models, write_embeddings

here = Path(__file__).parent
out = Path(tempfile.mkdtemp(prefix="signnap-"))

graph = load_graph(here / "edges.csv", nodes=here / "nodes.csv")
print(graph)
print(graph.report)

# With out, the run is kept in a folder, and fit(..., resume=True) continues it after a crash.
model = SIGNNAP(iterations=500).fit(graph, out=out / "run")
z = model.transform(graph)

unit = z / np.linalg.norm(z, axis=1, keepdims=True)
nearest = np.argsort(-unit @ unit[0])[1:4]
print(f"most similar to {graph.ids[0]}: {', '.join(graph.ids[node] for node in nearest)}")
print(f"accuracy {score_models([model], graph, 'random:0.3:0.2').accuracy} %")

write_embeddings(out / "embeddings.parquet", z, graph.ids)
print(f"wrote {len(z)} rows of width {z.shape[1]} to {out / 'embeddings.parquet'}")
