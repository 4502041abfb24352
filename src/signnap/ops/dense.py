"""Dense matrix products, by the library that is fastest on the present processor.

On a CPU torch multiplies float32 matrices with MKL, whose AVX-512 code runs on Intel processors alone. On AMD
processors with AVX-512 (Zen 4 and later) oneDNN is about twice as fast, and as exact. Torch ships oneDNN, but uses it
only for fused layers and convolutions. So these functions express a·bᵀ as a linear layer with the weight b, and aᵀ·b as
the gradient of one-pixel filters. On every other processor they call torch's products.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_CPUINFO = Path("/proc/cpuinfo")

#: With fewer numbers, torch's product ends before oneDNN has started.
_MIN_NUMBERS = 20480

#: Smallest number of pixels with which convolutions were faster than products (measured on a Zen 5).
_MIN_PIXELS = 512


def processor_name() -> str:
    """Model and maker of the processor, as the system reports them, for example "AMD EPYC (AuthenticAMD)"."""
    try:
        lines = _CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        lines = []
    facts = [line.partition(":") for line in lines]
    model, maker = (
        next((value.strip() for name, _, value in facts if name.strip() == key), "")
        for key in ("model name", "vendor_id")
    )
    if maker:
        return f"{model} ({maker})" if model else maker
    return platform.processor() or platform.machine()


def by_onednn(a: Tensor, b: Tensor) -> bool:
    """Whether oneDNN is faster than torch at multiplying the rows of a with the rows of b."""
    if not (a.dtype == b.dtype == torch.float32) or a.device.type != "cpu" or not _mkl_is_slow():
        return False
    if a.dim() < 2 or b.dim() != 2 or a.shape[-1] != b.shape[-1]:  # torch multiplies these, or explains the error
        return False
    return a.numel() > _MIN_NUMBERS and min(*a.shape, *b.shape) >= 16  # fewer columns leave vectors half empty


@cache
def _mkl_is_slow() -> bool:
    """Decided by the processor's maker, not by a measurement, so that one machine always computes the same bits."""
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
    """``a @ b`` of one matrix, or a stack of matrices, with one matrix; differentiable in both."""
    rows = a.flatten(0, -2) if a.dim() > 2 else a
    return _Product.apply(rows, b).view(*a.shape[:-1], -1) if by_onednn(rows, b.t()) else a @ b


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.t() + bias``, like torch's function of the same name."""
    if not by_onednn(x, weight):
        return functional.linear(x, weight, bias)
    found = matmul(x, weight.t())
    return found if bias is None else found + bias


class Linear(nn.Linear):
    """Torch's layer of the same name, computed by ``linear`` above."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def pairs(a: Tensor, b: Tensor, out: Tensor | None = None) -> Tensor:
    """``a @ b.t()``, the products of all pairs of rows, without gradients; ``out`` is used if that saves memory."""
    return _product(a, b.t()) if by_onednn(a, b) else torch.mm(a, b.t(), out=out)


def add_gradients(grad: Tensor, a: Tensor, b: Tensor, into_a: Tensor, into_b: Tensor | None = None) -> None:
    """Given the gradient of ``pairs(a, b)``, add the gradient of a to ``into_a`` and that of b to ``into_b``."""
    fast = by_onednn(a, b)
    into_a.add_(_product(grad, b)) if fast else into_a.addmm_(grad, b)
    if into_b is not None:
        into_b.add_(_product(grad.t(), a)) if fast else into_b.addmm_(grad.t(), a)


def _product(a: Tensor, b: Tensor) -> Tensor:
    """``a @ b`` by oneDNN, without gradients."""
    if not a.is_contiguous() and a.t().is_contiguous():
        # With one thread, or a small image, torch would run the convolution with MKL; few pixels do not pay off.
        large = a.shape[1] >= _MIN_PIXELS and b.numel() > _MIN_NUMBERS + 3 * b.shape[1]
        return _transposed_product(a.t(), b) if large and torch.get_num_threads() > 1 else a @ b
    packed = b.is_contiguous() or b.t().is_contiguous()  # oneDNN is slow with other layouts
    return torch.ops.mkldnn._linear_pointwise(a, (b if packed else b.contiguous()).t(), None, "none", [], "")


def _transposed_product(a: Tensor, b: Tensor) -> Tensor:
    """``a.t() @ b``: the gradient of one-pixel filters, for an image with one pixel per row."""
    even = len(a) // 4 * 4  # with other numbers of pixels oneDNN takes up to twice as long
    image = lambda rows: rows[:even].contiguous()[None, None].permute(0, 3, 1, 2)
    filters = a.new_empty(a.shape[1], b.shape[1], 1, 1)
    window: Any = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)  # stride, padding, dilation, not transposed, one group
    wanted = [False, True, False]
    found = torch.ops.aten.convolution_backward(image(a), image(b), filters, None, *window, wanted)[1][:, :, 0, 0]
    found = found.clone()  # not a view, because the caller may change it in place
    return found if even == len(a) else found.addmm_(a[even:].t(), b[even:])
