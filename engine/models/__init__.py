"""Language models: the seam, what a turn may spend on them, and structured answers."""
