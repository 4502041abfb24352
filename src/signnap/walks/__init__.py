"""Random walks: many at once, static shapes, all randomness from a generator."""

from .walks import BiasedWalks, Neighbours, Starts, expected_visits, uniform_walks

__all__ = ["BiasedWalks", "Neighbours", "Starts", "expected_visits", "uniform_walks"]
