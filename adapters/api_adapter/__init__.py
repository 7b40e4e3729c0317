"""The filter for other programs: an OpenAI-compatible endpoint and judgements of replies, for whoever holds a key."""
