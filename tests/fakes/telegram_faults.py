"""What goes wrong on purpose, call by call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rehearsal.telegram_world.refusal import BotApiRefusal, forbidden


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that goes wrong, made by one of the functions below.

    `refusal` is answered instead of calling; `page` is an HTML body with `status`; `drop` cuts the connection `before` or
    `after` the call was carried out.
    """

    refusal: BotApiRefusal | None = None
    status: int = 0
    page: str = ""
    drop: str = ""

    @staticmethod
    def too_many_requests(retry_after: int = 1) -> Fault:
        """429: wait for whole seconds."""
        if not isinstance(retry_after, int):
            raise TypeError("Telegram gives retry_after in whole seconds.")
        words = f"Too Many Requests: retry after {retry_after}"
        return Fault(refusal=BotApiRefusal(429, words, retry_after=retry_after))

    @staticmethod
    def blocked() -> Fault:
        """403: the person has blocked the bot."""
        return Fault(refusal=forbidden("bot was blocked by the user"))

    @staticmethod
    def refused(status: int, description: str) -> Fault:
        """Any other refusal, in the API's form."""
        return Fault(refusal=BotApiRefusal(status, description))

    @staticmethod
    def broken_gateway(status: int = 502) -> Fault:
        """500 or 502 with a page in HTML, as a proxy in front of the API gives it."""
        title = {500: "500 Internal Server Error", 502: "502 Bad Gateway"}[status]
        return Fault(status=status, page=f"<html><head><title>{title}</title></head><body>{title}</body></html>")

    @staticmethod
    def dropped(when: str = "before") -> Fault:
        """The connection is cut, `before` or `after` the call was carried out."""
        if when not in {"before", "after"}:
            raise ValueError("A connection is dropped before or after the call.")
        return Fault(drop=when)


@dataclass(kw_only=True)
class _Planned:
    method: str
    chat: int | None
    times: int | None
    fault: Fault


@dataclass
class FaultScript:
    """The faults still to come, in the order in which they were planned."""

    planned: list[_Planned] = field(default_factory=list)

    def plan(self, method: str, fault: Fault, *, chat: int | None, times: int | None) -> None:
        """The next calls of a method ("*": any) go wrong; `times=None`: all of them."""
        self.planned.append(_Planned(method=method.lower(), chat=chat, times=times, fault=fault))

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.planned.clear()

    def next(self, method: str, chat: Any) -> Fault | None:
        """The fault that this call meets, used up by it."""
        for planned in self.planned:
            if planned.method in {"*", method.lower()} and planned.chat in {None, chat}:
                if planned.times is not None:
                    planned.times -= 1
                    if planned.times <= 0:
                        self.planned.remove(planned)
                return planned.fault
        return None
