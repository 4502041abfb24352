"""The graph, its views, and the kernels that run over them."""

from .attention import attention
from .dropout import dropout
from .features import Features, as_dense, compact, drop_features, multiply, multiply_all, row_normalized
from .graph import EdgeReport, Graph
from .kernels import convolve, row_sums, sddmm, spmm
from .masked import MaskedFeatures, applied, mask_columns
from .pattern import Pattern
from .sparse import SparseFeatures
from .streamed import NoisyFeatures, StreamedFeatures
from .view import Operator, View

__all__ = [
    "EdgeReport", "Features", "Graph", "MaskedFeatures", "NoisyFeatures", "Operator", "Pattern", "SparseFeatures",
    "StreamedFeatures", "View", "applied", "as_dense", "attention", "compact", "convolve", "drop_features", "dropout",
    "mask_columns", "multiply", "multiply_all", "row_normalized", "row_sums", "sddmm", "spmm",
]  # fmt: skip
