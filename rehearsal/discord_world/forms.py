"""What Discord accepts as a message: lengths, mentions, embeds and polls."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors
from rehearsal.discord_world.components import check_components
from rehearsal.discord_world.errors import FormErrors
from rehearsal.discord_world.world import COMPONENTS_V2, EPHEMERAL, SUPPRESS_EMBEDS, SUPPRESS_NOTIFICATIONS, Poll

CONTENT = 2000
NONCE = 25
MENTIONS = {"roles", "users", "everyone"}
EMBED_TEXTS = {"title": 256, "description": 4096}
EMBED_TOTAL = 6000
POLL_QUESTION, POLL_ANSWERS, POLL_ANSWER, POLL_HOURS = 300, 10, 55, 768
SETTABLE = SUPPRESS_EMBEDS | SUPPRESS_NOTIFICATIONS | COMPONENTS_V2


def check_message(body: dict[str, Any], *, files: int = 0, new: bool = True) -> None:
    """Whether Discord takes a message.

    Raises ApiError: 50035 with the tree of what is wrong, 50006 for a new message with nothing in it.
    """
    form = FormErrors()
    if body.get("content") is not None:
        form.length("content", body["content"], 0, CONTENT)
    if body.get("nonce") is not None:
        form.length("nonce", str(body["nonce"]), 0, NONCE)
    if body.get("allowed_mentions") is not None:
        _check_mentions(form, body["allowed_mentions"])
    for number, embed in enumerate(form.count("embeds", body.get("embeds") or [], 0, 10)):
        _check_embed(form, f"embeds.{number}", embed)
    modern = bool(int(body.get("flags") or 0) & COMPONENTS_V2)
    if modern and (body.get("content") or body.get("embeds") or body.get("poll")):
        form.add("flags", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "No content besides components.")
    check_components(form, body.get("components") or [], modern=modern)
    if body.get("poll") is not None:
        _check_poll(form, body["poll"])
    form.check()
    if new and not files and not _says_something(body):
        raise errors.empty_message()


def _says_something(body: dict[str, Any]) -> bool:
    text = str(body.get("content") or "").strip()
    return bool(text or any(body.get(key) for key in ("embeds", "components", "poll", "sticker_ids")))


def _check_mentions(form: FormErrors, allowed: dict[str, Any]) -> None:
    parse = allowed.get("parse") or []
    for number, kind in enumerate(parse):
        form.choice(f"allowed_mentions.parse.{number}", kind, sorted(MENTIONS))
    for kind in ("users", "roles"):
        listed = form.count(f"allowed_mentions.{kind}", allowed.get(kind) or [], 0, 100)
        if listed and kind in parse:
            form.add(
                f"allowed_mentions.{kind}",
                "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
                f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            )


def _check_embed(form: FormErrors, path: str, embed: dict[str, Any]) -> None:
    total = 0
    for key, high in EMBED_TEXTS.items():
        if embed.get(key) is not None:
            form.length(f"{path}.{key}", embed[key], 0, high)
            total += len(embed[key])
    for number, one in enumerate(form.count(f"{path}.fields", embed.get("fields") or [], 0, 25)):
        form.length(f"{path}.fields.{number}.name", one.get("name"), 1, 256)
        form.length(f"{path}.fields.{number}.value", one.get("value"), 1, 1024)
        total += len(one.get("name") or "") + len(one.get("value") or "")
    if total > EMBED_TOTAL:
        form.add(path, "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {EMBED_TOTAL}")


def _check_poll(form: FormErrors, poll: dict[str, Any]) -> None:
    form.length("poll.question.text", (poll.get("question") or {}).get("text"), 1, POLL_QUESTION)
    for number, answer in enumerate(form.count("poll.answers", poll.get("answers"), 1, POLL_ANSWERS)):
        text = (answer.get("poll_media") or {}).get("text")
        form.length(f"poll.answers.{number}.poll_media.text", text, 1, POLL_ANSWER)
    hours = poll.get("duration", 24)
    if not isinstance(hours, int | float) or not 1 <= hours <= POLL_HOURS:
        form.add("poll.duration", "NUMBER_TYPE_MAX", f"int value should be between 1 and {POLL_HOURS}.")


def poll_of(body: dict[str, Any], now: float) -> Poll | None:
    """The poll that a checked message asks for."""
    poll = body.get("poll")
    if poll is None:
        return None
    answers = [answer["poll_media"]["text"] for answer in poll["answers"]]
    return Poll(
        question=poll["question"]["text"],
        answers=answers,
        multiselect=bool(poll.get("allow_multiselect")),
        expiry=now + float(poll.get("duration", 24)) * 3600,
        votes={number: [] for number in range(1, len(answers) + 1)},
    )


def flags_of(body: dict[str, Any], *, interaction: bool) -> int:
    """The flags that the bot may set itself: an answer to an interaction may be ephemeral too."""
    return int(body.get("flags") or 0) & (SETTABLE | EPHEMERAL if interaction else SETTABLE)
