"""Records the operations that torch executes, to find large tensors and waits for the device."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Watch(TorchDispatchMode):
    """Records the names of executed operations and the size of the largest storage that they return."""

    def __init__(self):
        super().__init__()
        self.names, self.numbers = set(), 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.overloadpacket.__name__)
        out = function(*args, **kwargs or {})
        for each in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(each, torch.Tensor):
                self.numbers = max(self.numbers, each.untyped_storage().nbytes() // each.element_size())
        return out
