"""Random walks: many at once, static shapes, all randomness from a generator."""

from .biased import BiasedWalks
from .neighbours import Neighbours
from .starts import Starts
from .uniform import expected_visits, uniform_walks

__all__ = ["BiasedWalks", "Neighbours", "Starts", "expected_visits", "uniform_walks"]
