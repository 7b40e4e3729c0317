"""A chat, whatever the platform: what a person did comes in, what is shown goes out, state lies sealed in between.

`incoming` and `showing` are the two words every adapter speaks; `chat` answers one with the others; `dispatch` keeps the
order; `store` keeps the state; a platform brings its `screen`.
"""
