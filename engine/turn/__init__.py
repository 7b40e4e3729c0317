"""One turn of conversation: from a message to a reply that has passed its checks and judges."""
