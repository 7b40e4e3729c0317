"""The engine: one turn of conversation, filtered. It knows no platform, no storage and no environment variable."""
