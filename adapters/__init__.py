"""Thin adapters, one a platform, and what they share around a turn."""
