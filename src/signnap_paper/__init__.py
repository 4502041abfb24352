"""The paper's reproduction: cells, their results, the tables and figures made of them, and the claims they support."""
