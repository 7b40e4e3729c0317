"""How the Bot API says no: a status, a description in its own words, and parameters for those that can be acted on."""

from __future__ import annotations

from typing import Any


class BotApiRefusal(Exception):
    """A call that the API turns down; it becomes `{"ok": false, "error_code", "description", "parameters"}`."""

    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.status, self.description, self.parameters = status, description, parameters

    def body(self) -> dict[str, Any]:
        """The JSON body of the answer."""
        body = {"ok": False, "error_code": self.status, "description": self.description}
        return body | ({"parameters": self.parameters} if self.parameters else {})


def bad(description: str, **parameters: Any) -> BotApiRefusal:
    """400, for a request that makes no sense."""
    return BotApiRefusal(400, f"Bad Request: {description}", **parameters)


def forbidden(description: str) -> BotApiRefusal:
    """403, for a chat that the bot may not write to."""
    return BotApiRefusal(403, f"Forbidden: {description}")


def conflict(description: str) -> BotApiRefusal:
    """409, for two ways of getting updates at once."""
    return BotApiRefusal(409, f"Conflict: {description}")
