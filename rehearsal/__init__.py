"""Practising without a token: platforms stood in for, on this computer."""
