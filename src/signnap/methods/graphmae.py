"""GraphMAE: nodes hide their features, and a decoder reconstructs these from the embeddings of the neighbours.

GraphMAE: https://arxiv.org/abs/2205.10803.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .. import rng
from ..encoders.gat import GATLayer, GATStack
from ..graph import Graph, View
from ..interfaces import Encoder, Step, Task, region
from ..objectives.reconstruction import product_cosines, sharpened, unit_rows
from ..ops.dense import Linear
from ..ops.dropout import dropout
from .base import Method, Sizes
from .settings import BaseSettings


@dataclass(frozen=True)
class GraphmaeSettings(BaseSettings):
    """GraphMAE with its authors' values for pubmed.

    The share ``mask_nodes`` of all nodes hide their features. The share ``replace_nodes`` of these show the features of
    another node instead of the learned token. With a larger ``sharpness`` (γ in the paper) nodes that are nearly right
    count less.
    """

    method: str = "graphmae"
    dim: int = 1024
    layers: int = 2
    heads: int = 4
    dropout: float = 0.2
    attention_dropout: float = 0.1
    mask_nodes: float = 0.75
    replace_nodes: float = 0.0
    sharpness: float = 3.0
    iterations: int = 1000
    schedule: str = "cosine:0"
    weight_decay: float = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = ("attention_dropout", "mask_nodes", "replace_nodes")
        self._expect(shares, lambda value: 0 <= value <= 1, "a number from 0 to 1")
        self._expect(("sharpness",), lambda value: 1 <= value < inf, "a finite number of at least 1")


class GraphMAE(Method):
    """Reconstructs the hidden features of nodes from the embeddings of their neighbours."""

    name = "graphmae"

    def build_encoder(self, settings: GraphmaeSettings, sizes: Sizes) -> GATStack:
        return GATStack(
            sizes.num_features, settings.dim, settings.layers, settings.dropout, settings.heads,
            attention_dropout=settings.attention_dropout, activation="prelu", activate_last=True, bias=True,
        )  # fmt: skip

    def build_task(self, settings: GraphmaeSettings, graph: Graph, view: View, encoder: Encoder) -> Rebuilding:
        assert isinstance(encoder, GATStack)
        return Rebuilding(settings, view, encoder)


class Mask(NamedTuple):
    """Nodes that hide their features, and nodes that keep them. The first hidden ones show those of ``donors``."""

    hidden: Tensor
    kept: Tensor
    donors: Tensor


def draw_mask(num_nodes: int, share: float, replaced: float, source: torch.Generator) -> Mask:
    """Hide ⌊share·N⌋ nodes, at least one. ⌊replaced·hidden⌋ of them, maybe none, get a random other node as donor."""
    order = torch.randperm(num_nodes, generator=source, device=source.device)
    hidden = max(1, math.floor(share * num_nodes + 1e-9))
    count = math.floor(replaced * hidden + 1e-9)
    steps = torch.randint(1, max(2, num_nodes), (count,), generator=source, device=source.device)
    return Mask(order[:hidden], order[hidden:], (order[:count] + steps) % num_nodes)


class Token(nn.Module):
    """The learned features that hidden nodes show in place of their own; they start at zero."""

    def __init__(self, num_features: int, dropout: float) -> None:
        super().__init__()
        self.features, self.dropout = nn.Parameter(torch.zeros(1, num_features)), dropout

    def forward(self, product: Tensor, weight: Tensor, mask: Mask) -> Tensor:
        """The product of the masked features with the weight, from the product of the original features.

        The product is linear, so rows can be replaced after it. The features stay as they are, and sparse.
        """
        shown = dropout(self.features, self.dropout, self.training) @ weight
        donated = product.index_select(0, mask.donors)
        tokens = shown.expand(len(mask.hidden) - len(mask.donors), -1)
        return product.index_copy(0, mask.hidden, torch.cat([donated, tokens]))


class Decoder(nn.Module):
    """From embeddings to features: a linear map, zero for hidden nodes, and one attention layer with a single head."""

    def __init__(self, dim: int, num_features: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.bridge = Linear(dim, dim, bias=False)
        self.layer = GATLayer(dim, 1, num_features, attention_dropout, bias=True)

    def remask(self, z: Tensor, mask: Mask) -> Tensor:
        """The input of the attention layer. The rows of hidden nodes are zero, so they are not computed first."""
        shown = dropout(self.bridge(z.index_select(0, mask.kept)), self.dropout, self.training)
        return torch.zeros_like(z).index_copy(0, mask.kept, shown)

    def forward(self, z: Tensor, mask: Mask, view: View) -> tuple[Tensor, Tensor]:
        """Two matrices whose product is the reconstruction of the hidden features.

        Attention averages rows, so it is applied before the rows become as wide as the features.
        """
        h, layer = self.remask(z, mask), self.layer
        gathered = layer.attend(h @ (layer.weight @ layer.directions()), h, view).index_select(0, mask.hidden)
        assert layer.bias is not None
        left = torch.cat([gathered, torch.ones_like(gathered[:, :1])], dim=1)  # the bias is a further row of the weight
        return left, torch.cat([layer.weight, layer.bias[None]])


class Rebuilding(Task):
    """Hide the features of some nodes, embed the rest of the graph, and reconstruct the hidden features."""

    def __init__(self, settings: GraphmaeSettings, view: View, encoder: GATStack) -> None:
        self.settings, self.view, self.allow_tf32 = settings, view, settings.allow_tf32
        device, num_features, rate = view.stored.device, view.x.shape[1], settings.dropout
        self.targets = unit_rows(view.x)
        self.generators = rng.generators(settings.seed, ("views", "layers"), device)
        with rng.as_default(rng.generator(settings.seed, "decoder")):
            decoder = Decoder(settings.dim, num_features, rate, settings.attention_dropout)
        self.encoder, self.token, self.decoder = encoder, Token(num_features, rate), decoder
        self.modules = nn.ModuleDict({"encoder": encoder, "token": self.token, "decoder": decoder}).to(device)

    def step(self) -> Step:
        chosen, nodes = self.settings, self.view.pattern.num_nodes
        with region("views"):
            mask = draw_mask(nodes, chosen.mask_nodes, chosen.replace_nodes, self.generators["views"])
        with rng.as_default(self.generators["layers"]):
            with region("encoder"):
                z = self.embed(mask)
            with region("decoder"):
                left, right = self.decoder(z, mask, self.view)
                cosines = product_cosines(left, right, self.targets, mask.hidden)
        total = sharpened(cosines, chosen.sharpness)
        return Step(total, {"loss": total.detach()})

    def embed(self, mask: Mask) -> Tensor:
        """Embed the masked graph."""
        product = self.token(self.encoder.begin(self.view), self.encoder.layers[0].weight, mask)
        return self.encoder.finish(product, self.view)
