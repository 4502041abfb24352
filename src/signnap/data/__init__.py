"""Where graphs come from, how their nodes are split, and where embeddings go."""
