"""Sizes of a graph that is not there, for tests that build encoders."""

from typing import NamedTuple


class Sizes(NamedTuple):
    """What ``Method.build_encoder`` asks of a graph."""

    num_nodes: int
    num_features: int
    num_classes: int
