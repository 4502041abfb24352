"""How much memory a training step takes above the loaded graph, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from signnap.data.public import DATASETS
from signnap.methods.settings import Settings

_MEASURE = """
import json, sys
from signnap_paper.benchmarks.speed import training_step
from signnap.data.load import load_graph
from signnap.methods.device import peak_memory_mb, process_memory_mb
import torch
torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # loads its modules, which are no part of a step
graph = load_graph("pubmed")
before = process_memory_mb("VmRSS")
step = training_step(graph, share=int(sys.argv[1]))
for _ in range(5):
    step()
print(json.dumps({"loaded": before, "peak": peak_memory_mb(torch.device("cpu"))}))
"""


def measure_memory() -> dict[str, Any]:
    """Peak memory of five pubmed iterations (GCN, K=1024, width 128) minus what the loaded graph already held.

    ``naive_gather_mb`` is what gathering N×(K+1)×d bank rows for both views would take, by arithmetic.
    """
    shared, own = _measured(Settings.share), _measured(1)
    gathered = 2 * DATASETS["pubmed"].nodes * (Settings.negatives + 1) * Settings.dim
    return {
        "pubmed_step_mb": shared["peak"] - shared["loaded"],
        "pubmed_step_per_anchor_mb": own["peak"] - own["loaded"],
        "loaded_graph_mb": shared["loaded"],
        "naive_gather_mb": 4 * gathered / 2**20,
    }


def _measured(share: int) -> dict[str, float]:
    """Measure in a fresh process: a peak never goes down again."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", _MEASURE, str(share)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        from signnap.errors import SignnapError

        reason = done.stderr.strip().splitlines()[-1].removeprefix("signnap.errors.SignnapError: ")
        raise SignnapError(f"the memory measurement failed: {reason}")
    return json.loads(done.stdout)
