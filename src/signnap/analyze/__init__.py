"""Judges that need no labels: how stable, smooth and identifiable embeddings are. They see arrays and callables."""

from .identifiability import Identifiability, identifiability
from .smoothness import Smoothness, smoothness
from .stability import Stability, stability

__all__ = ["Identifiability", "Smoothness", "Stability", "identifiability", "smoothness", "stability"]
