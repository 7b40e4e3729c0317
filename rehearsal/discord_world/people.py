"""People: what they write, press, choose and fill in, as far as Discord's own app would let them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rehearsal.discord_world import payloads
from rehearsal.discord_world.errors import Impossible
from rehearsal.discord_world.gateway import Intent
from rehearsal.discord_world.options import filled_options, resolved, submitted
from rehearsal.discord_world.permissions import Permission
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.things import (
    AUTOCOMPLETE,
    COMMAND,
    COMPONENT,
    MODAL_SUBMIT,
    Attachment,
    Channel,
    DiscordMessage,
    Interaction,
    User,
    parts_of,
    usable,
)
from rehearsal.discord_world.world import DiscordWorld

Place: TypeAlias = "Channel | DiscordPerson"
ATTACHMENT_LIMIT = 10 * 1024 * 1024


@dataclass(kw_only=True, eq=False)
class DiscordPerson(User):
    """A human user; where a place is wanted, a person stands for the direct conversation of that person with the bot.

    Everything raises Impossible for what Discord's app would not offer.
    """

    fake: Postings = field(repr=False)

    # --- Messages -----------------------------------------------------------------------------------------------------

    def write(
        self,
        place: Place,
        text: str,
        *,
        reply_to: DiscordMessage | None = None,
        ping: bool = True,
        files: dict[str, bytes] | None = None,
    ) -> DiscordMessage:
        """Write a message; `ping` is the switch beside a reply."""
        channel = self._channel(place)
        self._require(channel, Permission.SEND_MESSAGES_IN_THREADS if channel.is_thread else Permission.SEND_MESSAGES)
        if len(text) > 2000 or not (text.strip() or files):
            raise Impossible("A message has 1 to 2000 characters.")
        attachments = [
            Attachment(
                id=self.fake.world.ids.new(), filename=name, content=content, content_type="application/octet-stream"
            )
            for name, content in (files or {}).items()
        ]
        return self.fake.post(channel, self, {"content": text}, files=attachments, reply_to=reply_to, pings_author=ping)

    def delete(self, message: DiscordMessage) -> None:
        """Delete an own message, or any with the right to manage messages."""
        if message.author is not self:
            self._require(message.channel, Permission.MANAGE_MESSAGES)
        self.fake.delete(message)

    # --- Commands -----------------------------------------------------------------------------------------------------

    def slash(self, place: Place, name: str, **options: Any) -> Interaction:
        """Use a slash command, `"mod block-topic"` for one in a group; options by name, _ standing for - too."""
        channel = self._channel(place)
        command, path, described = self._command(channel, name)
        sent = filled_options(described, options)
        data = self._command_data(command, path, sent, options)
        return self._interact(COMMAND, channel, data)

    def autocomplete(self, place: Place, name: str, *, focused: str, **options: Any) -> Interaction:
        """Type into an option that completes itself; `await .offered()` gives the choices."""
        channel = self._channel(place)
        command, path, described = self._command(channel, name)
        if not any(one["name"] == focused and one.get("autocomplete") for one in described):
            raise Impossible(f"/{name} has no option {focused!r} that completes itself.")
        sent = filled_options(described, options, partial=True)
        for one in sent:
            if one["name"] == focused:
                one["focused"] = True
        return self._interact(AUTOCOMPLETE, channel, self._command_data(command, path, sent, options))

    def context_menu(self, name: str, target: DiscordMessage) -> Interaction:
        """Use a command of the menu of a message."""
        self._must_see(target)
        command = self._registered(target.channel, name, 3)
        shown = payloads.message_json(self.fake.world, target)
        data = self._command_data(command, [], [], {}) | {"target_id": str(target.id)}
        return self._interact(COMMAND, target.channel, data | {"resolved": {"messages": {str(target.id): shown}}})

    def _registered(self, channel: Channel, name: str, kind: int) -> dict[str, Any]:
        """The command of a name that this person is offered here; a guild's own one wins."""
        self._require(channel, Permission.USE_APPLICATION_COMMANDS)
        scopes: list[int | None] = [channel.guild.id, None] if channel.guild else [None]
        for scope in scopes:
            for command in self.fake.world.registered.get(scope, {}).values():
                if command["name"] == name and command["type"] == kind and self._is_offered(command, channel):
                    return command
        raise Impossible(f"{self.name} is offered no command {name!r} in {channel.name}.")

    def _is_offered(self, command: dict[str, Any], channel: Channel) -> bool:
        if channel.guild is None:
            contexts = command.get("contexts")
            return bool(command.get("dm_permission") is not False and (contexts is None or 1 in contexts))
        if command.get("contexts") is not None and 0 not in command["contexts"]:
            return False
        wanted = command.get("default_member_permissions")
        if wanted is None:
            return True
        held = self.fake.world.permissions(self, channel)
        return Permission.ADMINISTRATOR in held or (int(wanted) > 0 and int(held) & int(wanted) == int(wanted))

    def _command(
        self, channel: Channel, name: str
    ) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
        first, *rest = name.split()
        command = self._registered(channel, first, 1)
        options, path = command["options"] or [], []
        for part in rest:
            inside = next((one for one in options if one["name"] == part and one["type"] in {1, 2}), None)
            if inside is None:
                raise Impossible(f"There is no /{name}.")
            path.append(inside)
            options = inside.get("options") or []
        if any(one["type"] in {1, 2} for one in options):
            raise Impossible(f"/{name} needs one of its subcommands.")
        return command, path, options

    def _command_data(
        self,
        command: dict[str, Any],
        path: list[dict[str, Any]],
        sent: list[dict[str, Any]],
        given: dict[str, Any],
    ) -> dict[str, Any]:
        options = sent
        for part in reversed(path):
            options = [{"name": part["name"], "type": part["type"], "options": options}]
        data: dict[str, Any] = {"id": command["id"], "name": command["name"], "type": command["type"]}
        if options:
            data["options"] = options
        if "guild_id" in command:
            data["guild_id"] = command["guild_id"]
        things = resolved(self.fake.world, list(given.values()))
        return data | {"resolved": things} if things else data

    # --- Components and modals ----------------------------------------------------------------------------------------

    def press(self, message: DiscordMessage, label: str | None = None, *, custom_id: str | None = None) -> Interaction:
        """Press a button, found by its label or custom id."""
        part = self._part(message, {2}, label, custom_id)
        data = {"component_type": 2, "custom_id": part["custom_id"], "id": part["id"]}
        return self._interact(COMPONENT, message.channel, data, message=message)

    def _part(
        self, message: DiscordMessage, kinds: set[int], label: str | None, custom_id: str | None
    ) -> dict[str, Any]:
        self._must_see(message)
        for part in parts_of(message.components):
            named = (label is None or part.get("label") == label) and custom_id in {None, part.get("custom_id")}
            if part["type"] in kinds and usable(part) and named:
                return part
        raise Impossible(f"There is nothing to use named {label or custom_id!r}; buttons are {message.buttons}.")

    def submit(self, opened: Interaction, **values: Any) -> Interaction:
        """Fill in and send the modal that an interaction opened; fields by custom id or label, `**{...}` for any text."""
        if opened.modal is None or opened.user is not self:
            raise Impossible(f"{self.name} has no modal open.")
        data = {"custom_id": opened.modal["custom_id"], "components": submitted(opened.modal, values)}
        return self._interact(MODAL_SUBMIT, opened.channel, data, message=opened.message)

    # --- What all of it needs -----------------------------------------------------------------------------------------

    def _channel(self, place: Place) -> Channel:
        return place if isinstance(place, Channel) else self.fake.world.dm(place)

    def _require(self, channel: Channel, permission: Permission) -> None:
        there = channel.id in self.fake.world.channels and self.fake.world.sees(self, channel)
        if not there or not self.fake.world.may(self, channel, permission):
            raise Impossible(f"{self.name} may not do this in {channel.name}: {permission.name}.")
        if channel.locked:
            raise Impossible(f"{channel.name} is locked.")

    def _must_see(self, message: DiscordMessage) -> None:
        if message.deleted or not self.fake.world.reads(self, message):
            raise Impossible(f"{self.name} does not see this message.")

    def _interact(
        self, kind: int, channel: Channel, data: dict[str, Any], message: DiscordMessage | None = None
    ) -> Interaction:
        fake = self.fake
        interaction = Interaction(
            id=fake.world.ids.new(),
            token=secrets.token_urlsafe(24),
            type=kind,
            user=self,
            channel=channel,
            data=data,
            dispatched=fake.world.clock.now(),
            clock=fake.world.clock,
            waiting=fake.world.waiting,
            message=message,
        )
        fake.world.interactions.append(interaction)
        fake.world.by_token[interaction.token] = interaction
        # Interactions reach the bot without any intent.
        shown = interaction_json(fake.world, interaction)
        fake.gateway.send("INTERACTION_CREATE", shown, guild=channel.guild, intent=Intent.NONE)
        fake.world.changed()
        return interaction


def interaction_json(world: DiscordWorld, interaction: Interaction) -> dict[str, Any]:
    """What the gateway tells the bot of an interaction."""
    channel, user = interaction.channel, interaction.user
    shown: dict[str, Any] = {
        "id": str(interaction.id),
        "application_id": str(world.bot.id),
        "type": interaction.type,
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": str(channel.id),
        "channel": payloads.channel_json(world, channel),
        "locale": user.locale,
        "app_permissions": str(int(world.permissions(world.bot, channel))),
        "attachment_size_limit": ATTACHMENT_LIMIT,
        "entitlements": [],
        "authorizing_integration_owners": {"0": str(channel.guild.id if channel.guild else 0)},
        "context": 0 if channel.guild else 1,
    }
    if interaction.message is not None:
        shown["message"] = payloads.message_json(world, interaction.message)
    if channel.guild is None:
        return shown | {"user": payloads.user_json(user)}
    permissions = world.permissions(user, channel)
    return shown | {
        "guild_id": str(channel.guild.id),
        "guild_locale": channel.guild.locale,
        "guild": {"id": str(channel.guild.id), "locale": channel.guild.locale, "features": []},
        "member": payloads.member_json(channel.guild.members[user.id], permissions=permissions),
    }
