"""Self-reflective retrieval: is a search needed, do the candidates fit, is the answer complete. Optional, off by default."""
