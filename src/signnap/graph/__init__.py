"""The graph, its views, and the kernels that run over them."""

from .attention import attention
from .dropout import dropout
from .features import (
    Features,
    SparseFeatures,
    StreamedFeatures,
    as_dense,
    compact,
    drop_features,
    multiply,
    row_normalized,
)
from .graph import EdgeReport, Graph
from .kernels import convolve, row_sums, sddmm, spmm
from .pattern import Pattern
from .view import Operator, View

__all__ = [
    "EdgeReport", "Features", "Graph", "Operator", "Pattern", "SparseFeatures", "StreamedFeatures", "View", "as_dense",
    "attention", "compact", "convolve", "drop_features", "dropout", "multiply", "row_normalized", "row_sums", "sddmm",
    "spmm",
]  # fmt: skip
