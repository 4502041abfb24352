"""Graph convolutions with symmetric weights, and the stacks of them that the baselines use as encoders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..errors import SignnapError, unknown_name
from ..graph import View, drop_features, multiply_all
from ..interfaces import Encoder
from ..ops.dense import matmul
from ..ops.dropout import dropout

#: RReLU draws slopes between 1/8 and 1/3. The code of GRACE and GCA calls it so that it always takes their mean.
_RRELU_SLOPE = (1 / 8 + 1 / 3) / 2
#: Activations by name: functions of the number of learned slopes.
ACTIVATIONS: dict[str, Callable[[int], nn.Module]] = {
    "relu": lambda slopes: nn.ReLU(),
    "prelu": nn.PReLU,
    "rrelu": lambda slopes: nn.LeakyReLU(_RRELU_SLOPE),
    "elu": lambda slopes: nn.ELU(),
    "none": lambda slopes: nn.Identity(),
}


def find_activation(name: str) -> Callable[[int], nn.Module]:
    """The function that makes the activation of this name, given the number of learned slopes."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]


class SymmetricConvolution(nn.Module):
    """then(D^{-1/2} (A'+I) D^{-1/2} (H W) + b): PyG's ``GCNConv``, followed by the module ``then``.

    W starts Glorot-uniform, b zero. Without ``propagate`` the layer reads no edges and computes then(H W + b).
    """

    def __init__(self, in_dim: int, out_dim: int, then: nn.Module, *, propagate: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, out_dim)))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        self.then, self.propagate = then, propagate

    def forward(self, product: Tensor, view: View) -> Tensor:
        """Compute the rest of the layer from ``H @ weight``."""
        if not self.propagate:
            return self.then(product + self.bias)
        return self.then(view.symmetric(product).add_(self.bias))


class ConvolutionalStack(Encoder):
    """One graph convolution per width, each followed by optional batch norm and an activation.

    The last convolution is followed by neither, unless ``activate_last`` is set. ``momentum`` is the momentum of the
    running statistics of batch norm; None means no batch norm. PReLU learns one slope per layer, or one per unit with
    ``slope_per_unit``. Without ``propagate`` the stack reads no edges and is a perceptron. ``dropout`` acts on the
    input of every layer, including the features. The baselines use these stacks for embeddings of width d:

    - GRACE, GCA: ``[2 * d, d]``, ``activate_last``, with the activation that their authors chose for the data set.
    - BGRL: ``[2 * d, d]``, ``"prelu"``, ``activate_last``, ``momentum=0.01``.
    - Graph Barlow Twins: ``[2 * d, d]``, ``"prelu"``, ``momentum=0.01``.
    - DGI: ``[d]``, ``"prelu"``, ``activate_last``; in the comparison of the SIGNNAP paper ``[d, d]``, ``"prelu"``,
      ``slope_per_unit``.
    - CCA-SSG: ``[d, d]``; on coauthor_cs with ``momentum=0.1`` and without ``propagate``.
    - GCN as first published: ``[d, C]`` with ``dropout``.
    """

    def __init__(
        self,
        in_dim: int,
        widths: Sequence[int],
        activation: str = "relu",
        *,
        activate_last: bool = False,
        momentum: float | None = None,
        slope_per_unit: bool = False,
        propagate: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        sizes = [in_dim, *widths]
        if len(sizes) < 2 or min(sizes) < 1:
            raise SignnapError(f"the widths are {list(widths)} after {in_dim} features: expected at least one of each")
        activate = find_activation(activation)
        if momentum is not None and not 0 <= momentum <= 1:
            raise SignnapError(f"the momentum of batch norm is {momentum}: expected a number between 0 and 1")
        self.layers = nn.ModuleList()
        for depth, (before, width) in enumerate(zip(sizes, widths, strict=False), 1):
            then = nn.Sequential()
            if activate_last or depth < len(widths):
                then.extend([] if momentum is None else [nn.BatchNorm1d(width, momentum=momentum)])
                then.append(activate(width if slope_per_unit else 1))
            self.layers.append(SymmetricConvolution(before, width, then, propagate=propagate))

    def forward(self, view: View) -> Tensor:
        return self.encode([view])[0]

    def encode(self, views: Sequence[View]) -> list[Tensor]:
        """Embed all views, multiplying the parts that their features share with the first weight only once.

        After that product the views pass one after the other. So batch norm sees each view by itself and in order, as
        in the code of the baselines' authors.
        """
        if self.training and views[0].pattern.num_nodes == 1 and self._normalizes():
            raise SignnapError("batch norm cannot learn from a graph of one node: expected at least two")
        features = [drop_features(view.x, self.dropout, self.training) for view in views]
        return self.finish(multiply_all(features, self.layers[0].weight), views)

    def finish(self, products: Sequence[Tensor], views: Sequence[View]) -> list[Tensor]:
        """Embed views from the products of their features with the first weight."""
        first, *rest = self.layers
        found = [first(product, view) for product, view in zip(products, views, strict=True)]
        for layer in rest:
            inputs = [dropout(h, self.dropout, self.training) for h in found]
            found = [layer(matmul(h, layer.weight), view) for h, view in zip(inputs, views, strict=True)]
        return found

    def _normalizes(self) -> bool:
        return any(isinstance(part, nn.BatchNorm1d) for part in self.modules())


def original_gcn(in_dim: int, dim: int, layers: int, dropout: float, out_dim: int) -> ConvolutionalStack:
    """GCN as its authors published it (https://arxiv.org/abs/1609.02907): ReLU between layers, dropout before each."""
    return ConvolutionalStack(in_dim, [dim] * (layers - 1) + [out_dim], dropout=dropout)
