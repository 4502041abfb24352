"""Seeds: one torch.Generator per purpose, so that drawing more of one thing never shifts another."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

#: Torch's default generators are those of the whole process: one thread at a time may lend them out.
_LENT = threading.RLock()


def derive_seed(seed: int, purpose: str) -> int:
    """Mix a user's seed with the name of what it is used for into 63 independent bits."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def generator(seed: int, purpose: str, device: torch.device | str = "cpu") -> torch.Generator:
    """Return a fresh generator for one purpose ("views", "negatives", …)."""
    return torch.Generator(device=device).manual_seed(derive_seed(seed, purpose))


def generators(seed: int, purposes: Iterable[str], device: torch.device | str) -> dict[str, torch.Generator]:
    """A fresh generator for each purpose, by its name."""
    return {purpose: generator(seed, purpose, device) for purpose in purposes}


@contextmanager
def as_default(source: torch.Generator) -> Iterator[None]:
    """Let torch's default generator continue ``source`` inside the block, and leave no trace outside it.

    Plain ``nn.Module`` layers (dropout, initialisation, any encoder a user brings) draw from torch's default
    generator. Inside this block those draws come from, and advance, the given generator.
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
        # On a GPU the two share one state meanwhile, so that a recorded graph knows whose numbers it draws.
        default = torch.cuda.default_generators[source.device.index or 0]
        outside = default.graphsafe_get_state()
        default.graphsafe_set_state(source.graphsafe_get_state())
        try:
            yield
        finally:
            default.graphsafe_set_state(outside)
