"""Training: the loop, run folders with checkpoints, profiles, and the detection of a collapse."""
