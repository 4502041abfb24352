"""Perturbations: random changes of a view before an encoder reads it."""
