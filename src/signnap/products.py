"""Dense products, by the library that is fastest on the processor at hand.

On a CPU torch multiplies float32 matrices with MKL, whose AVX-512 code runs on Intel's processors alone. On AMD's that
have AVX-512 (Zen 4 and later) oneDNN, which torch also brings, is about twice as fast, and as exact. Torch asks it for
fused layers and convolutions only, so that is what products are called here: a·bᵀ is a linear layer with the weight b,
and aᵀ·b the gradient of filters of one pixel. Everywhere else these functions are what they say in torch's words.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .processor import processor_name

#: Fewer numbers are multiplied before oneDNN is ready to begin.
_SMALLEST = 20480

#: Pixels from which on convolutions were faster on a Zen 5.
_FEWEST = 512


def by_onednn(a: Tensor, b: Tensor) -> bool:
    """Whether oneDNN is the faster one to multiply rows of a with rows of b."""
    if not (a.dtype == b.dtype == torch.float32) or a.device.type != "cpu" or not _mkl_is_slow():
        return False
    if a.dim() < 2 or b.dim() != 2 or a.shape[-1] != b.shape[-1]:  # torch does it, or has the words for it
        return False
    return a.numel() > _SMALLEST and min(*a.shape, *b.shape) >= 16  # fewer columns would leave its vectors half empty


@cache
def _mkl_is_slow() -> bool:
    """By the processor's maker, not by measuring: the same machine shall always compute the same numbers."""
    libraries = torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()
    if not libraries or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    return "AVX512" in torch.backends.cpu.get_cpu_capability() and "AuthenticAMD" in processor_name()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        for_a, for_b = ctx.needs_input_grad
        ctx.save_for_backward(a if for_b else None, b if for_a else None)
        return _product(a, b)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, Tensor | None]:
        (a, b), (grad,), (for_a, for_b) = ctx.saved_tensors, grads, ctx.needs_input_grad
        return matmul(grad, b.t()) if for_a else None, matmul(a.t(), grad) if for_b else None


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` of a matrix, or of several stacked, with one matrix; differentiable in both."""
    rows = a.flatten(0, -2) if a.dim() > 2 else a
    return _Product.apply(rows, b).view(*a.shape[:-1], -1) if by_onednn(rows, b.t()) else a @ b


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.t() + bias``, as torch's function of that name."""
    if not by_onednn(x, weight):
        return functional.linear(x, weight, bias)
    found = matmul(x, weight.t())
    return found if bias is None else found + bias


class Linear(nn.Linear):
    """torch's layer of that name, by this ``linear``."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def pairs(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """``a @ b.t()``, the products of all pairs of rows; in ``out`` if that saves anything (no gradients)."""
    return _product(a, b.t()) if by_onednn(a, b) else torch.mm(a, b.t(), out=out)


def add_gradients(grad: Tensor, a: Tensor, b: Tensor, into_a: Tensor, into_b: Tensor | None = None) -> None:
    """Given the gradient of ``pairs(a, b)``, add that of a to one matrix and that of b to another, if there is one."""
    fast = by_onednn(a, b)
    into_a.add_(_product(grad, b)) if fast else into_a.addmm_(grad, b)
    if into_b is not None:
        into_b.add_(_product(grad.t(), a)) if fast else into_b.addmm_(grad.t(), a)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` by oneDNN, without gradients."""
    if not a.is_contiguous() and a.t().is_contiguous():
        # With one thread, or a small image, torch would leave the convolution to MKL; few pixels are not worth it.
        large = a.shape[1] >= _FEWEST and b.numel() > _SMALLEST + 3 * b.shape[1]
        return _transposed_product(a.t(), b) if large and torch.get_num_threads() > 1 else a @ b
    packed = b.is_contiguous() or b.t().is_contiguous()  # other weights are slow
    return torch.ops.mkldnn._linear_pointwise(a, (b if packed else b.contiguous()).t(), None, "none", [], "")


def _transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """``a.t() @ b``: the gradient of one-pixel filters, by an image with a pixel for every row."""
    even = len(a) // 4 * 4  # other numbers of pixels take oneDNN up to twice as long
    image = lambda rows: rows[:even].contiguous()[None, None].permute(0, 3, 1, 2)
    filters = a.new_empty(a.shape[1], b.shape[1], 1, 1)
    window: Any = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)  # stride, padding, dilation, not transposed, one group
    wanted = [False, True, False]
    found = torch.ops.aten.convolution_backward(image(a), image(b), filters, None, *window, wanted)[1][:, :, 0, 0]
    found = found.clone()  # no view: whoever asked may change it in place
    return found if even == len(a) else found.addmm_(a[even:].t(), b[even:])
