"""Models, graphs and judges brought together."""
