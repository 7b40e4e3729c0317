"""Greetings, thanks, insults, distress without a question: answered with fixed sentences."""

from __future__ import annotations

from dataclasses import dataclass

from engine.settings import AssistantSettings
from engine.texts import Texts


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallTalk:
    """Recognises small talk; anything with a question in it is left to the sources."""

    texts: Texts

    def answer(self, message: str, assistant: AssistantSettings) -> str | None:
        """A fixed reply, or None when the message wants more than that."""
        texts, sayings = self.texts, self.texts.sayings
        for saying, reply in (
            (sayings.greeting, texts.greeting),
            (sayings.farewell, texts.farewell),
            (sayings.thanks, texts.thanks),
            (sayings.insult, texts.insult),
            (sayings.distress, texts.distress),
        ):
            if saying.fits(message):
                return reply.format(
                    name=assistant.name, condition=assistant.condition_told, topics=topic_list(assistant, texts)
                )
        return None


def topic_list(assistant: AssistantSettings, texts: Texts, most: int = 4) -> str:
    """Some topics of an assistant as part of a sentence."""
    topics = list(assistant.topics[:most])
    return f"{', '.join(topics[:-1])} {texts.between_topics} {topics[-1]}" if len(topics) > 1 else "".join(topics)
