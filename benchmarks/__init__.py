"""What a turn costs in processor time, seconds and calls, measured against a model server of our own."""
