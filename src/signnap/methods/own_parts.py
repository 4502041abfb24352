"""Parts of the user's own: what a run records of them, and what has to come out of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import SignnapError
from ..graph import View
from ..interfaces import Terms


def described(part: Any) -> str:
    """How a part prints, without addresses, and below it the plain values that do not print.

    Parts that work differently should differ here. Modules do not print their numbers, and many objects print none.
    """
    lines = [re.sub(" at 0x[0-9a-fA-F]+", "", repr(part))]
    if isinstance(part, nn.Module):
        lines += [f"{place}.{line}".lstrip(".") for place, each in part.named_modules() for line in _values(each)]
    elif type(part).__repr__ is object.__repr__:
        lines += _values(part)
    return "\n".join(lines)


def _values(holder: Any) -> list[str]:
    """The numbers, words and flags that an object holds, a line each."""
    return [
        f"{name} = {value!r}"
        for name, value in sorted(getattr(holder, "__dict__", {}).items())
        if isinstance(value, (bool, int, float, str)) and not name.startswith("_") and name != "training"
    ]


def expect_same_parts(place: str, known: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with other parts than those that a run has recorded."""
    for name in ("backbone", "objective", "perturbation"):
        before, after = (str(facts.get(name, "that of its settings")).splitlines() for facts in (known, now))
        for old, new in zip_longest(before, after, fillvalue="nothing"):
            if old != new:
                raise SignnapError(f"{place} was trained with another {name} ({old}, not {new}): cannot resume")


def expect_embeddings(z: Any, view: View) -> None:
    """Refuse what is not one row of numbers for each node."""
    nodes = view.pattern.num_nodes
    if isinstance(z, Tensor) and z.dtype == torch.float32 and z.dim() == 2 and len(z) == nodes and z.shape[1]:
        return
    raise SignnapError(f"the encoder returned {_seen(z)}: expected a float32 tensor with {nodes:,} rows, one per node")


def expect_view(found: Any, given: View) -> None:
    """Refuse what is not a view of the same graph."""
    if not isinstance(found, View):
        raise SignnapError(f"the perturbation returned {_seen(found)}: expected a View, as with_entries makes one")
    if found.pattern is not given.pattern:
        raise SignnapError("the perturbation returned a view of another graph: expected the same pattern of entries")
    if found.stored.shape != given.stored.shape or found.stored.dtype != given.stored.dtype:
        wanted = _seen(given.stored)
        raise SignnapError(
            f"the perturbation returned entries in {_seen(found.stored)}: expected {wanted}, 0 if dropped"
        )


def expect_terms(terms: Any) -> None:
    """Refuse what cannot be minimised."""
    if not isinstance(terms, Terms):
        raise SignnapError(f"the objective returned {_seen(terms)}: expected Terms")
    if not isinstance(terms.parts, dict):
        raise SignnapError(f"the objective returned {_seen(terms.parts)} as parts: expected a dict of tensors by name")
    if taken := {"loss", "mutual_information_bound"} & terms.parts.keys():
        raise SignnapError(f"the objective returned a part named {min(taken)}: expected a name of no other metric")
    bound = () if terms.mutual_information_bound is None else ("mutual_information_bound",)
    numbers = [(name, getattr(terms, name)) for name in ("total", *bound)]
    for name, value in [*numbers, *terms.parts.items()]:
        if not isinstance(value, Tensor) or value.dim():
            raise SignnapError(f"the objective returned {_seen(value)} as {name}: expected a tensor with one number")
    if torch.is_grad_enabled() and not terms.total.requires_grad:
        raise SignnapError("the objective returned a total that does not depend on the embeddings: expected gradients")


def changes(view: View) -> tuple[int, ...]:
    """How often the tensors of a view were written to: nobody but its maker may."""
    values = view.x if isinstance(view.x, Tensor) else getattr(view.x, "values", None)
    return tuple(tensor._version for tensor in (view.stored, values) if isinstance(tensor, Tensor))


def _seen(value: Any) -> str:
    if isinstance(value, Tensor):
        kind = str(value.dtype).removeprefix("torch.")
        return f"a {kind} tensor of shape {tuple(value.shape)}"
    return "nothing" if value is None else f"a {type(value).__name__}"
