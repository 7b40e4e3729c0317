"""Telegram: updates in, messages out, on python-telegram-bot. Everything between the two is shared with other platforms."""
