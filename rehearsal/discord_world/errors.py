"""What Discord's API answers when it refuses: HTTP status, code and message, and the tree of a form's errors."""

from __future__ import annotations

from typing import Any, TypeAlias

Tree: TypeAlias = dict[str, Any]


class Impossible(AssertionError):
    """A test had a person do what Discord's own app does not let her do."""


class ApiError(Exception):
    """A refusal, to be sent as JSON."""

    def __init__(self, status: int, code: int, message: str, errors: Tree | None = None) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code, self.message, self.errors = status, code, message, errors

    def body(self) -> dict[str, Any]:
        """The JSON that Discord sends."""
        body: dict[str, Any] = {"message": self.message, "code": self.code}
        return body | {"errors": self.errors} if self.errors else body


def unauthorized() -> ApiError:
    return ApiError(401, 0, "401: Unauthorized")


def no_such_route() -> ApiError:
    return ApiError(404, 0, "404: Not Found")


def unknown(what: str) -> ApiError:
    """10003 Unknown Channel and its relatives."""
    codes = {
        "Channel": 10003,
        "Guild": 10004,
        "Member": 10007,
        "Message": 10008,
        "User": 10013,
        "Emoji": 10014,
        "Webhook": 10015,
        "interaction": 10062,
        "application command": 10063,
    }
    return ApiError(404, codes[what], f"Unknown {what}")


def missing_access() -> ApiError:
    return ApiError(403, 50001, "Missing Access")


def missing_permissions() -> ApiError:
    return ApiError(403, 50013, "Missing Permissions")


def already_acknowledged() -> ApiError:
    return ApiError(400, 40060, "Interaction has already been acknowledged.")


def empty_message() -> ApiError:
    return ApiError(400, 50006, "Cannot send an empty message")


def not_the_author() -> ApiError:
    return ApiError(403, 50005, "Cannot edit a message authored by another user")


def cannot_reach_user() -> ApiError:
    return ApiError(403, 50007, "Cannot send messages to this user")


def invalid_webhook_token() -> ApiError:
    return ApiError(401, 50027, "Invalid Webhook Token")


def invalid(path: str, message: str) -> ApiError:
    """50035 for one field."""
    return ApiError(400, 50035, "Invalid Form Body", {path: {"_errors": [{"code": "INVALID", "message": message}]}})
