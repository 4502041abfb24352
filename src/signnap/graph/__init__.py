"""The graph, its pattern of entries, its views and their node features: immutable data structures."""

from .feature_ops import applied, as_dense, compact, drop_features, mask_columns, multiply, multiply_all, row_normalized
from .feature_types import Features, MaskedFeatures, NoisyFeatures, SparseFeatures, StreamedFeatures
from .graph import EdgeReport, Graph
from .pattern import Pattern
from .view import Operator, View

__all__ = [
    "EdgeReport", "Features", "Graph", "MaskedFeatures", "NoisyFeatures", "Operator", "Pattern", "SparseFeatures",
    "StreamedFeatures", "View", "applied", "as_dense", "compact", "drop_features", "mask_columns", "multiply",
    "multiply_all", "row_normalized",
]  # fmt: skip
