"""Attention over a fixed pattern: who listens to whom, and how much (GAT, spec §2.3)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import leaky_relu

from ..gpu import usable
from .kernels import mirrored, row_sums
from .pattern import Pattern


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sender: Tensor, receiver: Tensor, kept: Tensor, pattern: Pattern, slope: float) -> Tensor:
        if usable(sender, receiver):
            from ..gpu.attention import attention

            weights = attention(pattern.indptr, pattern.indices, sender, receiver, kept, slope)
        else:
            weights = _row_softmax(pattern, leaky_relu(_sums(pattern, sender, receiver), slope), kept)
        ctx.pattern, ctx.slope = pattern, slope
        ctx.save_for_backward(sender, receiver, weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        sender, receiver, weights = ctx.saved_tensors
        pattern, grad = ctx.pattern, grads[0]
        if usable(grad):
            from ..gpu.attention import attention_backward

            arrays = (pattern.indptr, pattern.indices, pattern.mirror)
            return *attention_backward(*arrays, sender, receiver, weights, grad, ctx.slope), None, None, None
        weighted = grad * weights
        inner = weighted - weights * row_sums(pattern, weighted).index_select(0, pattern.rows)
        inner = torch.where(_sums(pattern, sender, receiver) > 0, inner, inner * ctx.slope)
        return row_sums(pattern, mirrored(pattern, inner)), row_sums(pattern, inner), None, None, None


def _sums(pattern: Pattern, sender: Tensor, receiver: Tensor) -> Tensor:
    return sender.index_select(0, pattern.indices) + receiver.index_select(0, pattern.rows)


def _row_softmax(pattern: Pattern, scores: Tensor, kept: Tensor) -> Tensor:
    scores = scores.masked_fill(~kept[:, None], -torch.inf)
    peak = torch.segment_reduce(scores, "max", offsets=pattern.offsets, axis=0)
    weights = (scores - peak.index_select(0, pattern.rows)).exp_()
    return weights.div_(row_sums(pattern, weights).index_select(0, pattern.rows))


def attention(pattern: Pattern, sender: Tensor, receiver: Tensor, kept: Tensor, slope: float = 0.2) -> Tensor:
    """(E, H) weights: softmax over each row's kept entries of LeakyReLU(sender[j] + receiver[i]); 0 where not kept.

    ``sender`` and ``receiver`` are (N, H). Every row must keep an entry.
    """
    return _Attention.apply(sender, receiver, kept, pattern, slope)
