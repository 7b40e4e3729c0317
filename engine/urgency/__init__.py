"""Urgency: does a message say that somebody is in danger? Independent layers; never a grade of a person."""
