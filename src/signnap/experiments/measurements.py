"""Rows taken apart: one measurement of one probe of one encoder a line, as tools for tables like them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from .cells import Results


def measurements(results: Results) -> Iterator[dict[str, Any]]:
    """Every accuracy that the rows hold, with what it takes to run it again; a cell that failed has none.

    Seconds are an encoder's share of those that were trained together. Rows that do not tell a fact have null.
    """
    for row in results:
        if "error" in row:
            continue
        cell, resolved = row["cell"], row.get("resolved")
        facts = {
            "method": cell["method"],
            "backbone": cell["settings"].get("backbone", (resolved or {}).get("backbone")),
            "dataset": cell["graph"],
            "split": cell["split"],
            "protocol": f"{cell['probe']}, on dropped graphs" if cell["dropped"] else cell["probe"],
            "settings": cell["settings"],
        }
        cost = {
            "seconds": round(row["seconds"] / len(row["seeds"]), 3),
            "peak_memory_mb": row.get("peak_memory_mb"),
            "device": row["device"],
            "version": f"{row['signnap']}+{row['revision']}" if row.get("revision") else row["signnap"],
            "config_hash": resolved and hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:16],
        }
        for at, seed in enumerate(row["seeds"]):
            for metric, part in (("test accuracy", "test"), ("validation accuracy", "val")):
                for probe, value in enumerate(row[part][at]):
                    seeds = {"encoder_seed": seed, "probe_seed": probe, "metric": metric, "value": value}
                    yield facts | seeds | {"iterations": row["iterations"][at]} | cost
