"""Custom ids of buttons: what a press means, and whose it is. They outlive every process."""

from __future__ import annotations

import string
from dataclasses import dataclass

from adapters.conversation.outgoing import Button

LONGEST = 100
"""What Discord carries with a button."""
_DIGITS = string.digits + string.ascii_lowercase


@dataclass(frozen=True, kw_only=True, slots=True)
class Code:
    """A button's custom id. `owner`: whose it is; `context`: the thread of the owner's chat, empty outside of threads."""

    owner: int
    context: str
    command: str
    argument: str = ""
    about: int | None = None

    def custom_id(self) -> str:
        """The id; longer than Discord takes for arguments that nobody uses."""
        code = Button(label="", command=self.command, argument=self.argument, about=self.about).code()
        return f"c|{_short(self.owner)}|{_short(int(self.context)) if self.context else ''}|{code}"

    @staticmethod
    def read(custom_id: str) -> Code | None:
        """The inverse; None for an id that is not ours."""
        first, *rest = custom_id.split("|", 3)
        code = Button.read(rest[2]) if first == "c" and len(rest) == 3 else None
        if code is None:
            return None
        try:
            owner, context = int(rest[0], 36), str(int(rest[1], 36)) if rest[1] else ""
        except ValueError:
            return None
        command, about, argument = code
        return Code(owner=owner, context=context, command=command, argument=argument, about=about)


def _short(number: int) -> str:
    """A number in base 36, as `int(text, 36)` reads it."""
    digits = ""
    while number:
        number, last = divmod(number, 36)
        digits = _DIGITS[last] + digits
    return digits or "0"
