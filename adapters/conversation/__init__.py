"""What is said and when, whatever the platform: what a person did comes in, what is shown goes out.

`incoming` and `outgoing` are the two words every adapter speaks; `chat` answers one with the others.
"""
