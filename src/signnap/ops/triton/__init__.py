"""Triton kernels that compute the operations of ``ops`` on a GPU with fewer passes over memory.

The torch code in ``ops`` states what is computed and runs on every device. The kernels are plain functions on tensors.
They have no autograd, never wait for the device, and use shapes that do not depend on data, so that a whole training
step can be captured in a CUDA graph. Every sum has a fixed order: the same inputs give the same bits. The modules of
this package import Triton, which not every machine has. Import them only after ``usable`` has returned True.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

#: Maximal width of embeddings in ``contrast_kernels`` and ``pairwise_kernels``; wider rows do not fit the registers.
MAX_DIM = 256

#: Precisions of the products of embeddings in these two modules; all other products are float32.
PRECISIONS = ("float32", "tf32", "bf16")

#: exp of this number, times any number of scores that a sum has, is a float32 number, and so is its reciprocal.
EXP_IS_SAFE = 60.0


def usable(*tensors: Tensor) -> bool:
    """Whether the kernels accept these tensors: they lie on the current CUDA device, and Triton is installed.

    Triton launches on the current device, wherever the tensors lie, and the kernels accumulate in float32. So torch
    computes with tensors of another device and with float64.
    """
    if not all(t.is_cuda and t.dtype != torch.float64 for t in tensors) or not _has_triton():
        return False
    return all(t.get_device() == torch.cuda.current_device() for t in tensors)


@cache
def _has_triton() -> bool:
    return find_spec("triton") is not None
