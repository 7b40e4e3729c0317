"""From a prompt template to a validated answer: what every role with a language model does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel

from engine.models.ledger import Ledger
from engine.models.protocol import ChatModel, PromptMessage
from engine.models.structured import ask
from engine.prompts import PromptTemplate
from engine.types import Message

Output = TypeVar("Output", bound=BaseModel)


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptedModel:
    """A model with the template of one role."""

    model: ChatModel
    template: PromptTemplate

    def declared(self, given: Mapping[str, object]) -> dict[str, object]:
        """Those of the variables that the template asks for: several templates share what one role is given."""
        return {name: given[name] for name in self.template.head.variables}

    async def answer(
        self,
        variables: Mapping[str, object],
        output: type[Output],
        ledger: Ledger,
        *,
        history: Sequence[Message] = (),
    ) -> Output:
        """Render, call and validate. `history` goes between the static first message and the rest.

        Raises PromptError for a wrong template and ModelError for a model that gives nothing usable.
        """
        first, *rest = self.template.render(variables)
        messages = (
            PromptMessage(role=first[0], content=first[1]),
            *(PromptMessage(role=str(one.role), content=one.content) for one in history),
            *(PromptMessage(role=role, content=content) for role, content in rest),
        )
        head = self.template.head
        return await ask(
            self.model,
            output,
            ledger,
            role=head.role,
            tier=head.tier,
            messages=messages,
            schema_name=head.output,
            max_tokens=head.max_tokens,
            temperature=head.temperature,
        )
