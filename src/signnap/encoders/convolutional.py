"""The usual graph convolution, and the stacks of it that the baselines encode with (spec §4.4 to §5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..contracts import Encoder
from ..errors import SignnapError
from ..graph import View, drop_features, multiply_all
from ..ops.dense import matmul
from ..ops.dropout import dropout
from .activations import find_activation


class SymmetricConvolution(nn.Module):
    """then(D^{-1/2} (A'+I) D^{-1/2} (H W) + b): PyG's ``GCNConv`` and what follows it. W is Glorot, b zero.

    Unless it shall ``propagate``, it reads no edges: then(H W + b).
    """

    def __init__(self, in_dim: int, out_dim: int, then: nn.Module, *, propagate: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(in_dim, out_dim)))
        self.bias = nn.Parameter(torch.zeros(out_dim))
        self.then, self.propagate = then, propagate

    def forward(self, product: Tensor, view: View) -> Tensor:
        """Finish the layer, given ``H @ weight``."""
        if not self.propagate:
            return self.then(product + self.bias)
        return self.then(view.symmetric(product).add_(self.bias))


class ConvolutionalStack(Encoder):
    """One graph convolution for every width, each followed by batch norm, if wanted, and an activation.

    The last one is followed by neither unless ``activate_last``. ``momentum`` is how fast the running statistics of
    batch norm move; None means no batch norm. PReLU learns one slope in each layer, or one for each of its units.
    Without ``propagate`` no edge is read, and the stack is a plain perceptron. ``dropout`` acts on the input of every
    layer, the features among them. The encoders of the baselines, for an embedding of width d:

    - GRACE, GCA: ``[2 * d, d]``, ``activate_last``, with the activation that their authors chose for a data set.
    - BGRL: ``[2 * d, d]``, ``"prelu"``, ``activate_last``, ``momentum=0.01``.
    - Graph Barlow Twins: ``[2 * d, d]``, ``"prelu"``, ``momentum=0.01``.
    - DGI: ``[d]``, ``"prelu"``, ``activate_last``; in the paper's comparison ``[d, d]``, ``"prelu"``,
      ``slope_per_unit``.
    - CCA-SSG: ``[d, d]``; on coauthor_cs with ``momentum=0.1``, and without ``propagate``.
    - GCN as it was first published (spec §3.1): ``[d, C]`` with ``dropout``.
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
        """All views together: what their features have in common is multiplied with the first weight once.

        What follows it is done for one view after the other, so that batch norm sees each by itself, in their order, as
        the baselines' authors encode them.
        """
        if self.training and views[0].pattern.num_nodes == 1 and self._normalizes():
            raise SignnapError("batch norm cannot learn from a graph of one node: expected at least two")
        features = [drop_features(view.x, self.dropout, self.training) for view in views]
        return self.finish(multiply_all(features, self.layers[0].weight), views)

    def finish(self, products: Sequence[Tensor], views: Sequence[View]) -> list[Tensor]:
        """Embed views, given the product of each one's features with the first weight."""
        first, *rest = self.layers
        found = [first(product, view) for product, view in zip(products, views, strict=True)]
        for layer in rest:
            inputs = [dropout(h, self.dropout, self.training) for h in found]
            found = [layer(matmul(h, layer.weight), view) for h, view in zip(inputs, views, strict=True)]
        return found

    def _normalizes(self) -> bool:
        return any(isinstance(part, nn.BatchNorm1d) for part in self.modules())
