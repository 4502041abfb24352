"""Objectives: losses of two embeddings of the same nodes. ``signnap.registry.OBJECTIVES`` names them."""
