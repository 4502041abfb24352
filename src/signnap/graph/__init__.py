"""The graph, its views, and the kernels that run over them."""

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
from .kernels import dropout, row_softmax, row_sums, sddmm, spmm
from .pattern import Pattern
from .view import Operator, View

__all__ = [
    "EdgeReport", "Features", "Graph", "Operator", "Pattern", "SparseFeatures", "StreamedFeatures", "View", "as_dense",
    "compact", "drop_features", "dropout", "multiply", "row_normalized", "row_softmax", "row_sums", "sddmm", "spmm",
]  # fmt: skip
