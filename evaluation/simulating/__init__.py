"""Simulated users: personas, scripted or played by a model, who want to know something; and what they get."""
