"""Encoders: from a view to one embedding per node. ``signnap.registry.ENCODERS`` names them."""
