"""Measurements of speed and memory. ``signnap bench`` runs two of them; the others are scripts (``python -m``)."""
