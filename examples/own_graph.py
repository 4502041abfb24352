"""Your own graph in two CSV files: train without labels, embed, write rows keyed by your ids."""

import csv
import random
import tempfile
from pathlib import Path

from signnap import SIGNNAP, load_graph, read_embeddings, write_embeddings

folder = Path(tempfile.mkdtemp(prefix="signnap-"))
draw = random.Random(0)

# Two offices of thirty people each, who mostly talk within their office.
people = [f"{office}{number}" for office in ("north-", "south-") for number in range(30)]
with open(folder / "nodes.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["id", "age", "role"])
    table.writerows([person, draw.randint(20, 65), draw.choice(["sales", "support"])] for person in people)
with open(folder / "edges.csv", "w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["source", "target"])
    for _ in range(300):
        one, other = draw.sample(people, 2)
        if one[:5] == other[:5] or draw.random() < 0.1:
            table.writerow([one, other])

graph = load_graph(folder / "edges.csv", nodes=folder / "nodes.csv")
print(graph)
print(graph.report)
print("features:", ", ".join(graph.feature_names))

# With out the run is kept in a folder and can be continued after a crash: fit(..., resume=True).
model = SIGNNAP(dim=16, negatives=64, iterations=200).fit(graph, out=folder / "run")
write_embeddings(folder / "embeddings.parquet", model.transform(graph), graph.ids)

rows, ids = read_embeddings(folder / "embeddings.parquet")
assert ids is not None
print(f"wrote {len(rows)} rows of width {rows.shape[1]} to {folder / 'embeddings.parquet'}; the first is {ids[0]}")
