"""REST: acknowledging interactions, and the webhooks through which they are answered afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import Call
from rehearsal.discord_world.commands import check_choices
from rehearsal.discord_world.components import check_modal, numbered
from rehearsal.discord_world.errors import FormErrors
from rehearsal.discord_world.forms import check_message
from rehearsal.discord_world.interactions import (
    ACKNOWLEDGE_WITHIN,
    ANSWER,
    AUTOCOMPLETE,
    CHOICES,
    COMMAND,
    COMPONENT,
    DEFERRED,
    DEFERRED_UPDATE,
    MODAL,
    MODAL_SUBMIT,
    TOKEN_LASTS,
    UPDATE,
    Interaction,
)
from rehearsal.discord_world.world import EPHEMERAL, LOADING, Message, as_id

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer

MESSAGES = {ANSWER, DEFERRED}
ALLOWED = {
    COMMAND: MESSAGES | {MODAL},
    COMPONENT: MESSAGES | {DEFERRED_UPDATE, UPDATE, MODAL},
    AUTOCOMPLETE: {CHOICES},
    MODAL_SUBMIT: MESSAGES | {DEFERRED_UPDATE, UPDATE},
}


def acknowledge(fake: DiscordServer, call: Call) -> Any:
    """The first answer to an interaction: once, and within three seconds."""
    interaction = fake.by_token.get(call.params["token"])
    if interaction is None or str(interaction.id) != call.params["interaction_id"]:
        raise errors.unknown("interaction")
    if interaction.acknowledged_at is not None:
        raise errors.already_acknowledged()
    now = fake.clock.now()
    if now - interaction.dispatched > ACKNOWLEDGE_WITHIN:
        raise errors.unknown("interaction")
    kind, data = call.form.get("type", 0), call.form.get("data") or {}
    _check_kind(interaction, kind)
    _check_data(kind, data, files=len(call.files))
    interaction.acknowledged_at, interaction.answered_with = now, kind
    _apply(fake, call, interaction, kind, data)
    return _callback_json(fake, interaction, kind) if call.query.get("with_response") in {"1", "true"} else None


def _check_kind(interaction: Interaction, kind: int) -> None:
    form = FormErrors()
    allowed = ALLOWED[interaction.type]
    if interaction.type == MODAL_SUBMIT and interaction.message is None:
        allowed = MESSAGES | {DEFERRED_UPDATE}
    form.choice("type", kind, sorted(allowed))
    form.check()


def _check_data(kind: int, data: dict[str, Any], *, files: int) -> None:
    if kind in {ANSWER, UPDATE}:
        check_message(data, files=files, new=kind == ANSWER)
    elif kind == MODAL:
        check_modal(data)
    elif kind == CHOICES:
        form = FormErrors()
        choices = form.count("data.choices", data.get("choices"), 0, 25)
        for number, choice in enumerate(choices):
            kind_of_value = 3 if isinstance(choice.get("value"), str) else 10
            check_choices(form, f"data.choices.{number}", [choice], kind_of_value)
        form.check()


def _apply(fake: DiscordServer, call: Call, interaction: Interaction, kind: int, data: dict[str, Any]) -> None:
    if kind in MESSAGES:
        interaction.original = fake.posting.post(
            interaction.channel,
            fake.bot,
            data,
            files=call.files,
            interaction=interaction,
            reply_to=interaction.message,
            loading=kind == DEFERRED,
        )
    elif kind in {UPDATE, DEFERRED_UPDATE}:
        interaction.original = interaction.message
        if kind == UPDATE and interaction.message is not None:
            fake.posting.edit(interaction.message, data, files=call.files)
    elif kind == CHOICES:
        interaction.choices = data["choices"]
    elif kind == MODAL:
        interaction.modal = {**data, "components": numbered(data["components"])}


def _callback_json(fake: DiscordServer, interaction: Interaction, kind: int) -> dict[str, Any]:
    about: dict[str, Any] = {"id": str(interaction.id), "type": interaction.type}
    answer: dict[str, Any] = {"interaction": about}
    message = interaction.original
    if message is not None:
        about["response_message_id"] = str(message.id)
        about["response_message_loading"] = message.loading
        about["response_message_ephemeral"] = message.ephemeral_for is not None
    if kind in MESSAGES | {UPDATE} and message is not None:
        answer["resource"] = {"type": kind, "message": _shown(fake, message)}
    return answer


def _shown(fake: DiscordServer, message: Message) -> dict[str, Any]:
    return payloads.message_json(fake.world, message, origin=fake.origin)


def _webhook(fake: DiscordServer, call: Call) -> Interaction:
    """The interaction of a webhook: it begins with a message as first answer and ends after fifteen minutes.

    Raises ApiError: 10015 where there is none (yet), 50027 when its time is over.
    """
    interaction = fake.by_token.get(call.params["token"])
    if interaction is None or as_id(call.params["webhook_id"]) != fake.bot.id:
        raise errors.unknown("Webhook")
    if interaction.answered_with not in MESSAGES | {UPDATE, DEFERRED_UPDATE}:
        raise errors.unknown("Webhook")
    if fake.clock.now() - interaction.dispatched > TOKEN_LASTS:
        raise errors.invalid_webhook_token()
    return interaction


def follow_up(fake: DiscordServer, call: Call) -> Any:
    """One more message; the first one after "thinking" takes that message's place and its being ephemeral or not."""
    interaction = _webhook(fake, call)
    check_message(call.form, files=len(call.files))
    first = interaction.original
    if first is not None and first.loading and not first.deleted:
        return _shown(fake, fake.posting.edit(first, _without_flag(call.form, EPHEMERAL), files=call.files))
    message = fake.posting.post(
        interaction.channel, fake.bot, call.form, files=call.files, interaction=interaction, reply_to=first
    )
    interaction.followups.append(message)
    return _shown(fake, message)


def _without_flag(body: dict[str, Any], flag: int) -> dict[str, Any]:
    return {**body, "flags": int(body.get("flags") or 0) & ~(flag | LOADING)}


def _message(fake: DiscordServer, call: Call) -> Message:
    interaction = _webhook(fake, call)
    wanted = call.params["message_id"]
    known = [one for one in [interaction.original, *interaction.followups] if one is not None]
    chosen = [interaction.original] if wanted == "@original" else [one for one in known if one.id == as_id(wanted)]
    found = chosen[0] if chosen else None
    if found is None or found.deleted:
        raise errors.unknown("Message")
    return found


def get_reply(fake: DiscordServer, call: Call) -> Any:
    """A message of an interaction."""
    return _shown(fake, _message(fake, call))


def edit_reply(fake: DiscordServer, call: Call) -> Any:
    """Change a message of an interaction."""
    message = _message(fake, call)
    check_message(call.form, files=len(call.files), new=message.loading)
    return _shown(fake, fake.posting.edit(message, call.form, files=call.files))


def delete_reply(fake: DiscordServer, call: Call) -> Any:
    """Delete a message of an interaction."""
    fake.posting.delete(_message(fake, call))


REPLY = "/webhooks/{webhook_id}/{token}/messages/{message_id}"
ROUTES = (
    ("POST", "/interactions/{interaction_id}/{token}/callback", acknowledge),
    ("POST", "/webhooks/{webhook_id}/{token}", follow_up),
    ("GET", REPLY, get_reply),
    ("PATCH", REPLY, edit_reply),
    ("DELETE", REPLY, delete_reply),
)
