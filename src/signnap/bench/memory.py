"""How much memory a training step takes above the loaded graph, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from ..methods.settings import Settings

_MEASURE = """
import json, sys
from signnap.bench.memory import resident_mb, peak_resident_mb
from signnap.bench.speed import training_step
from signnap.data import load_graph
import torch
torch.optim.Adam([torch.zeros(1, requires_grad=True)])  # loads its modules, which are no part of a step
graph = load_graph("pubmed")
before = resident_mb()
step = training_step(graph, share=int(sys.argv[1]))
for _ in range(5):
    step()
print(json.dumps({"loaded": before, "peak": peak_resident_mb()}))
"""


def measure_memory() -> dict[str, Any]:
    """Peak memory of five pubmed iterations (GCN, K=1024, width 128) minus what the loaded graph already held.

    ``naive_gather_mb`` is what gathering N×(K+1)×d bank rows for both views would take, by arithmetic.
    """
    shared, own = _measured(Settings.share), _measured(1)
    return {
        "pubmed_step_mb": shared["peak"] - shared["loaded"],
        "pubmed_step_per_anchor_mb": own["peak"] - own["loaded"],
        "loaded_graph_mb": shared["loaded"],
        "naive_gather_mb": 2 * 19_717 * 1025 * 128 * 4 / 2**20,
    }


def resident_mb() -> float:
    """Memory this process holds now, in MB."""
    return _status("VmRSS")


def peak_resident_mb() -> float:
    """The most memory this process has held, in MB."""
    return _status("VmHWM")


def _status(key: str) -> float:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith(key))


def _measured(share: int) -> dict[str, float]:
    """Measure in a fresh process: a peak never goes down again."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-c", _MEASURE, str(share)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        from ..errors import SignnapError

        reason = done.stderr.strip().splitlines()[-1].removeprefix("signnap.errors.SignnapError: ")
        raise SignnapError(f"the memory measurement failed: {reason}")
    return json.loads(done.stdout)
