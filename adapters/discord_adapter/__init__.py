"""Discord: interactions and mentions in, messages out, on discord.py. Everything between the two is shared."""
