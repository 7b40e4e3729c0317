"""The operator's own people: who answers for the bot, when they can be reached, and what they can and cannot do."""
