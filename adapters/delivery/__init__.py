"""How messages come and go, whatever the platform: in order, on disk before they are acknowledged, again where it failed.

`dispatch` keeps the order, `store` the state and what waits; a platform brings its `screen`.
"""
