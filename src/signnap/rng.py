"""Random numbers: one generator per purpose, so that more draws for one purpose do not change another."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

#: Torch's default generators belong to the whole process, so one thread at a time may replace them.
_LENT = threading.RLock()


def derive_seed(seed: int, purpose: str) -> int:
    """Hash a seed and the name of a purpose to 63 bits."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, purpose: str, device: torch.device | str = "cpu") -> torch.Generator:
    """Return a new generator for one purpose ("views", "negatives", …)."""
    return torch.Generator(device=device).manual_seed(derive_seed(seed, purpose))


def generators(seed: int, purposes: Iterable[str], device: torch.device | str) -> dict[str, torch.Generator]:
    """Return a new generator for each purpose, by its name."""
    return {purpose: generator(seed, purpose, device) for purpose in purposes}


@contextmanager
def as_default(source: torch.Generator) -> Iterator[None]:
    """Let torch's default generator continue ``source`` inside the block, and restore it afterwards.

    Layers (dropout, initialisation, encoders of the user) draw from torch's default generator. Inside the block these
    draws come from ``source`` and advance it.
    """
    with _LENT:
        if source.device.type == "cpu":
            default = torch.default_generator
            outside = default.get_state()
            default.set_state(source.get_state())
            try:
                yield
            finally:
                source.set_state(default.get_state())
                default.set_state(outside)
            return
        # On a GPU the two generators share one state here, so that a recorded CUDA graph draws from the given one.
        default = torch.cuda.default_generators[source.device.index or 0]
        outside = default.graphsafe_get_state()
        default.graphsafe_set_state(source.graphsafe_get_state())
        try:
            yield
        finally:
            default.graphsafe_set_state(outside)
