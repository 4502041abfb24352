"""The graph, its views, and the kernels that run over them."""

from .attention import attention
from .dropout import dropout
from .features import Features, as_dense, compact, drop_features, multiply, row_normalized
from .graph import EdgeReport, Graph
from .kernels import convolve, row_sums, sddmm, spmm
from .pattern import Pattern
from .sparse import SparseFeatures
from .streamed import NoisyFeatures, StreamedFeatures
from .view import Operator, View

__all__ = [
    "EdgeReport", "Features", "Graph", "NoisyFeatures", "Operator", "Pattern", "SparseFeatures", "StreamedFeatures",
    "View", "as_dense", "attention", "compact", "convolve", "drop_features", "dropout", "multiply", "row_normalized",
    "row_sums", "sddmm", "spmm",
]  # fmt: skip
