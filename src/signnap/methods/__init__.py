"""Methods: how embeddings are learned. Import them from their own modules; this package stays free of torch."""
