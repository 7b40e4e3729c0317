"""What authors of a knowledge base work with: the linter, coverage, figures, and the import of manuals."""
