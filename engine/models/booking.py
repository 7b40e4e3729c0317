"""One model call on the turn's account: booked before it starts, written down however it ends."""

from __future__ import annotations

from types import TracebackType

from engine.exceptions import ModelDeclined, ModelOutputError
from engine.models.ledger import Ledger, ModelCall


class Booking:
    """Books a call on entering and records it on leaving; every model client uses it the same way.

    `seconds` is what the call may take. Outcomes: ok, declined, bad_output, cancelled, unavailable, and
    `unsupported` for a request that is sent again because the server does not know one of its parameters.
    Raises BudgetExceeded on construction; nothing is recorded then, because nothing was sent.
    """

    def __init__(self, ledger: Ledger, *, role: str, model: str) -> None:
        self.seconds = ledger.reserve()
        self.unsupported = False
        self._ledger, self._role, self._model = ledger, role, model
        self._started = ledger.now()
        self._tokens = (0, 0, 0)

    def count(self, *, prompt: int, completion: int, cached: int = 0) -> None:
        """Note the tokens of the call, whatever becomes of it; a later note replaces an earlier one."""
        self._tokens = (prompt, completion, cached)

    def __enter__(self) -> Booking:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        prompt, completion, cached = self._tokens
        self._ledger.record(
            ModelCall(
                role=self._role,
                model=self._model,
                started=self._started,
                ended=self._ledger.now(),
                prompt_tokens=prompt,
                completion_tokens=completion,
                cached_tokens=cached,
                outcome="unsupported" if self.unsupported else _outcome(kind),
            )
        )


def _outcome(kind: type[BaseException] | None) -> str:
    if kind is None:
        return "ok"
    if issubclass(kind, ModelDeclined):
        return "declined"
    if issubclass(kind, ModelOutputError):
        return "bad_output"
    # Only errors are failures of the model; what else ends a call (CancelledError) came from our side.
    return "unavailable" if issubclass(kind, Exception) else "cancelled"
