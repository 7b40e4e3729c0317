"""Loopback servers that stand in for other people's platforms, so that the real libraries are tested."""
