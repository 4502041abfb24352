"""Triton kernels for an accelerator: the arithmetic of ``graph/kernels.py`` and of some objectives again.

The torch code there states what is computed and runs everywhere; the kernels here make fewer passes over memory.
They are plain functions on tensors: nothing differentiates through them, nothing waits for the device, and no shape
depends on data, so a whole training step can be captured in a CUDA graph. Their modules import Triton, which is not
installed everywhere; import them only after ``usable`` has said yes.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

#: Wider embeddings would not fit the registers of a block of ``contrast`` or ``all_pairs``.
MAX_DIM = 256

#: How coarse the products of embeddings may be in these two; elsewhere they are float32.
PRECISIONS = ("float32", "tf32", "bf16")

#: exp of this, times as many scores as anybody sums, is a float32 number, and so is its reciprocal.
EXP_IS_SAFE = 60.0


def usable(*tensors: Tensor) -> bool:
    """Whether the kernels can take these tensors: on the current CUDA device, with Triton installed.

    Triton launches on the current device whatever the tensors say, and the kernels add up in float32, so tensors of
    another device or in float64 are left to torch.
    """
    if not all(t.is_cuda and t.dtype != torch.float64 for t in tensors) or not _has_triton():
        return False
    return all(t.get_device() == torch.cuda.current_device() for t in tensors)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
