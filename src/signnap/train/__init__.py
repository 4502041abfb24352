"""Training: the one loop, its checkpoints, and what it watches."""
