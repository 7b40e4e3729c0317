"""REST: acknowledging interactions, and the webhooks through which they are answered afterwards."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import errors, payloads
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.forms import ChoicesForm, ModalForm, check, check_message
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.things import (
    ACKNOWLEDGE_WITHIN,
    ANSWER,
    AUTOCOMPLETE,
    CHOICES,
    COMMAND,
    COMPONENT,
    DEFERRED,
    DEFERRED_UPDATE,
    EPHEMERAL,
    LOADING,
    MODAL,
    MODAL_SUBMIT,
    TOKEN_LASTS,
    UPDATE,
    DiscordMessage,
    Interaction,
)
from rehearsal.discord_world.world import as_id

MESSAGES = {ANSWER, DEFERRED}
ALLOWED = {
    COMMAND: MESSAGES | {MODAL},
    COMPONENT: MESSAGES | {DEFERRED_UPDATE, UPDATE, MODAL},
    AUTOCOMPLETE: {CHOICES},
    MODAL_SUBMIT: MESSAGES | {DEFERRED_UPDATE, UPDATE},
}


def acknowledge(fake: Postings, call: RestCall) -> Any:
    """The first answer to an interaction: once, and within three seconds."""
    interaction = fake.world.by_token.get(call.params["token"])
    if interaction is None or str(interaction.id) != call.params["interaction_id"]:
        raise errors.unknown("interaction")
    if interaction.acknowledged_at is not None:
        raise errors.already_acknowledged()
    now = fake.world.clock.now()
    if now - interaction.dispatched > ACKNOWLEDGE_WITHIN:
        raise errors.unknown("interaction")
    kind, data = call.form.get("type", 0), call.form.get("data") or {}
    _check_kind(interaction, kind)
    _check_data(kind, data, files=len(call.files))
    interaction.acknowledged_at, interaction.answered_with = now, kind
    _apply(fake, call, interaction, kind, data)
    return _callback_json(fake, interaction, kind) if call.query.get("with_response") in {"1", "true"} else None


def _check_kind(interaction: Interaction, kind: int) -> None:
    allowed = ALLOWED[interaction.type]
    if interaction.type == MODAL_SUBMIT and interaction.message is None:
        allowed = MESSAGES | {DEFERRED_UPDATE}
    if kind not in allowed:
        raise errors.invalid("type", f"Value must be one of {sorted(allowed)}.")


def _check_data(kind: int, data: dict[str, Any], *, files: int) -> None:
    if kind in {ANSWER, UPDATE}:
        check_message(data, files=files, new=kind == ANSWER)
    elif kind == MODAL:
        check(ModalForm, data, "data")
    elif kind == CHOICES:
        check(ChoicesForm, data, "data")


def _apply(fake: Postings, call: RestCall, interaction: Interaction, kind: int, data: dict[str, Any]) -> None:
    if kind in MESSAGES:
        interaction.original = fake.post(
            interaction.channel,
            fake.world.bot,
            data,
            files=call.files,
            interaction=interaction,
            reply_to=interaction.message,
            loading=kind == DEFERRED,
        )
    elif kind in {UPDATE, DEFERRED_UPDATE}:
        interaction.original = interaction.message
        if kind == UPDATE and interaction.message is not None:
            fake.edit(interaction.message, data, files=call.files)
    elif kind == CHOICES:
        interaction.choices = data["choices"]
    elif kind == MODAL:
        interaction.modal = {**data, "components": payloads.numbered(data["components"])}


def _callback_json(fake: Postings, interaction: Interaction, kind: int) -> dict[str, Any]:
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


def _shown(fake: Postings, message: DiscordMessage) -> dict[str, Any]:
    return payloads.message_json(fake.world, message)


def _webhook(fake: Postings, call: RestCall) -> Interaction:
    """The interaction of a webhook: it begins with a message as first answer and ends after fifteen minutes.

    Raises ApiError: 10015 where there is none (yet), 50027 when its time is over.
    """
    interaction = fake.world.by_token.get(call.params["token"])
    if interaction is None or as_id(call.params["webhook_id"]) != fake.world.bot.id:
        raise errors.unknown("Webhook")
    if interaction.answered_with not in MESSAGES | {UPDATE, DEFERRED_UPDATE}:
        raise errors.unknown("Webhook")
    if fake.world.clock.now() - interaction.dispatched > TOKEN_LASTS:
        raise errors.invalid_webhook_token()
    return interaction


def follow_up(fake: Postings, call: RestCall) -> Any:
    """One more message; the first one after "thinking" takes that message's place and its being ephemeral or not."""
    interaction = _webhook(fake, call)
    check_message(call.form, files=len(call.files))
    first = interaction.original
    if first is not None and first.loading and not first.deleted:
        return _shown(fake, fake.edit(first, _without_flag(call.form, EPHEMERAL), files=call.files))
    message = fake.post(
        interaction.channel, fake.world.bot, call.form, files=call.files, interaction=interaction, reply_to=first
    )
    interaction.followups.append(message)
    return _shown(fake, message)


def _without_flag(body: dict[str, Any], flag: int) -> dict[str, Any]:
    return {**body, "flags": int(body.get("flags") or 0) & ~(flag | LOADING)}


def _message(fake: Postings, call: RestCall) -> DiscordMessage:
    interaction = _webhook(fake, call)
    wanted = call.params["message_id"]
    known = [one for one in [interaction.original, *interaction.followups] if one is not None]
    chosen = [interaction.original] if wanted == "@original" else [one for one in known if one.id == as_id(wanted)]
    found = chosen[0] if chosen else None
    if found is None or found.deleted:
        raise errors.unknown("Message")
    return found


def edit_reply(fake: Postings, call: RestCall) -> Any:
    """Change a message of an interaction."""
    message = _message(fake, call)
    check_message(call.form, files=len(call.files), new=message.loading)
    return _shown(fake, fake.edit(message, call.form, files=call.files))


REPLY = "/webhooks/{webhook_id}/{token}/messages/{message_id}"
ROUTES = (
    ("POST", "/interactions/{interaction_id}/{token}/callback", acknowledge),
    ("POST", "/webhooks/{webhook_id}/{token}", follow_up),
    ("PATCH", REPLY, edit_reply),
)
