"""Rows taken apart: one measurement of one probe of one encoder a line, as tools for tables like them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from .results import Results


def measurements(results: Results) -> Iterator[dict[str, Any]]:
    """Every accuracy that the rows hold, with what it takes to run it again; a cell that failed has none.

    Cells that differ only in what a figure looks at have the same encoders: these count once. Seconds are an encoder's
    share of those that were trained together. What a row does not tell is null.
    """
    known = set()
    for row in results:
        if "error" in row:
            continue
        facts, cost = _facts(row), _cost(row)
        for at, seed in enumerate(row["seeds"]):
            key = json.dumps([facts, seed], sort_keys=True)
            if key in known:
                continue
            known.add(key)
            own = {"iterations": row["iterations"][at], "collapsed": str(seed) in row.get("collapsed", {})}
            for metric, part in (("test accuracy", "test"), ("validation accuracy", "val")):
                for probe, value in enumerate(row[part][at]):
                    found = {"encoder_seed": seed, "probe_seed": probe, "metric": metric, "value": value}
                    yield facts | found | own | cost


def _facts(row: dict[str, Any]) -> dict[str, Any]:
    """What was trained and how it was judged; of a split that is ``redrawn`` every encoder seed had its own."""
    cell = row["cell"]
    return {
        "method": cell["method"],
        "backbone": cell["settings"].get("backbone", row.get("resolved", {}).get("backbone")),
        "dataset": cell["graph"],
        "split": cell["split"],
        "redrawn": cell["redrawn"],
        "protocol": f"{cell['probe']}, on dropped graphs" if cell["dropped"] else cell["probe"],
        "settings": cell["settings"],
    }


def _cost(row: dict[str, Any]) -> dict[str, Any]:
    """What an encoder took, and the device, version and settings that made it."""
    version, resolved = [row.get("signnap"), row.get("revision")], row.get("resolved")
    return {
        "seconds": round(row["seconds"] / len(row["seeds"]), 3),
        "peak_memory_mb": row.get("peak_memory_mb"),
        "device": row.get("device"),
        "version": "+".join(part for part in version if part) or None,
        "config_hash": resolved and hashlib.sha256(json.dumps(resolved, sort_keys=True).encode()).hexdigest()[:16],
    }
