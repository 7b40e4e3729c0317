"""The laboratory: measures retrieval, urgency and judges."""
