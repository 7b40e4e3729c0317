"""Feedback: fixed questions, events that can hold no free text, where they go, when to ask, and what may be told of it."""
