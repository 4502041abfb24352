"""Numerical operations on tensors; they know neither graphs nor methods.

``dense``, ``sparse``, ``dropout``, ``contrast`` and ``pairwise`` compute with torch and run on every device.
``triton`` holds kernels that compute the same on a GPU with fewer passes over memory.
"""
