"""The log: what happened, when and where; never what anybody wrote."""

from __future__ import annotations

import logging

QUIET = (
    "httpx", "httpx2", "httpcore", "telegram", "openai", "alembic", "discord", "uvicorn.access", "asyncio", "urllib3"
)  # fmt: skip
"""Libraries that log addresses with tokens in them, or what was sent; only their warnings come through."""


def set_up_log(level: str) -> None:
    """Log to standard error, one line an event."""
    logging.basicConfig(
        level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt="%Y-%m-%d %H:%M:%S"
    )
    # They write whole errors of the server, which may quote a row; what matters of it, `cafi.worker` says.
    for name in ("procrastinate", "psycopg.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
