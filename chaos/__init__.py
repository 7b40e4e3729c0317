"""The fault laboratory: real processes, and what goes wrong at night done to them on purpose. See docs/howto/chaos.md."""
