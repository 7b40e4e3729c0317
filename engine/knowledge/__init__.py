"""The knowledge base: sources, the local rules in their square brackets, and how a folder of them is read."""
