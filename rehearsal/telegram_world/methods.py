"""What a bot may call on messages, buttons and polls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rehearsal.telegram_world.keyboard import inline
from rehearsal.telegram_world.params import Method, Params
from rehearsal.telegram_world.refusal import bad
from rehearsal.telegram_world.text import MAX_CAPTION, MAX_TEXT, checked, units
from rehearsal.telegram_world.world import BOT_AS_SEEN, TelegramChat, TelegramWorld

MAX_ANSWER, MAX_QUESTION, MAX_OPTION, MAX_OPTIONS = 200, 300, 100, 12
MAX_PHOTO_BYTES = 10 * 1024 * 1024
CHAT_ACTIONS = {
    *("typing", "choose_sticker", "find_location", "upload_document", "upload_photo"),
    *("record_video", "record_video_note", "record_voice", "upload_video", "upload_video_note", "upload_voice"),
}
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")


class MessageMethods:
    """The methods on messages, by name. `tell` queues an update for the bot."""

    def __init__(self, world: TelegramWorld, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.world, self.tell = world, tell

    def methods(self) -> dict[str, Method]:
        """What can be called, by the API's names."""
        return {
            "sendMessage": self.send_message,
            "sendPhoto": self.send_photo,
            "sendPoll": self.send_poll,
            "answerCallbackQuery": self.answer_callback_query,
            "sendChatAction": self.send_chat_action,
        }

    def send_message(self, params: Params) -> Any:
        """Text of 1 to 4096 UTF-16 units."""
        text, entities = checked(params.text("text"), params.get("entities"), most=MAX_TEXT)
        return self._send(params, {"text": text} | ({"entities": entities} if entities else {}))

    def send_photo(self, params: Params) -> Any:
        """A picture: uploaded, by file id or by address."""
        caption, entities = checked(
            params.text("caption"), params.get("caption_entities"), most=MAX_CAPTION, what="caption"
        )
        content: dict[str, Any] = {"photo": self._photo(params)}
        content |= {"caption": caption} if caption else {}
        return self._send(params, content | ({"caption_entities": entities} if entities else {}))

    def send_poll(self, params: Params) -> Any:
        """A question of up to 300 characters with 2 to 12 options of up to 100."""
        question, options = params.text("question").strip(), params.get("options") or []
        texts = [option.get("text", "") if isinstance(option, dict) else option for option in options]
        if not question:
            raise bad("poll question must be non-empty")
        if len(question) > MAX_QUESTION:
            raise bad(f"poll question length must not exceed {MAX_QUESTION}")
        if len(texts) < 2:
            raise bad("poll must have at least 2 option")
        if len(texts) > MAX_OPTIONS:
            raise bad(f"poll can't have more than {MAX_OPTIONS} options")
        if not all(text.strip() for text in texts):
            raise bad("poll options must be non-empty")
        if max(map(len, texts)) > MAX_OPTION:
            raise bad(f"poll options length must not exceed {MAX_OPTION}")
        poll = {
            "id": str(5_100_000_000_000_000_000 + self.world.next()),
            "question": question,
            "options": [
                {"persistent_id": str(number), "text": text, "voter_count": 0} for number, text in enumerate(texts)
            ],
            "total_voter_count": 0,
            "is_closed": bool(params.get("is_closed")),
            "is_anonymous": params.get("is_anonymous", True),
            "type": params.get("type", "regular"),
            "allows_multiple_answers": bool(params.get("allows_multiple_answers")),
            "allows_revoting": params.get("allows_revoting", True),
            "members_only": False,
        }
        return self._send(params, {"poll": poll})

    def answer_callback_query(self, params: Params) -> Any:
        """The answer to a press of a button, once."""
        if units(params.text("text")) > MAX_ANSWER:
            raise bad("MESSAGE_TOO_LONG")
        if self.world.queries.pop(params.text("callback_query_id"), None) is None:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        return True

    def send_chat_action(self, params: Params) -> Any:
        """The line that says that the bot is typing."""
        self._place(params)
        if params.get("action") not in CHAT_ACTIONS:
            raise bad("wrong parameter action in request")
        return True

    def _place(self, params: Params) -> tuple[TelegramChat, int | None]:
        chat, topic = self.world.chat_for_bot(params.get("chat_id")), params.get("message_thread_id")
        # Topic 1 is "General": its messages carry no thread, and sending to it by number is refused.
        if topic is not None and topic not in chat.topics and (chat.is_forum or topic not in chat.messages):
            raise bad("message thread not found")
        return chat, topic

    def _send(self, params: Params, content: dict[str, Any]) -> Any:
        chat, topic = self._place(params)
        reply = params.get("reply_parameters") or {}
        reply_to = reply.get("message_id")
        if reply_to is not None and reply_to not in chat.messages:
            if not reply.get("allow_sending_without_reply"):
                raise bad("message to be replied not found")
            reply_to = None
        keyboard = inline(params.get("reply_markup"))
        content = {"from": BOT_AS_SEEN, **content} | ({"reply_markup": keyboard} if keyboard else {})
        if params.get("link_preview_options"):
            content["link_preview_options"] = params.get("link_preview_options")
        return self.world.post(chat, content, topic=topic, reply_to=reply_to)

    def _photo(self, params: Params) -> list[dict[str, Any]]:
        given = params.get("photo")
        attached = given.removeprefix("attach://") if isinstance(given, str) else "photo"
        upload = params.files.get(attached)
        if upload is not None:
            if len(upload.content) > MAX_PHOTO_BYTES:
                raise bad("file is too big")
            if not upload.content.startswith(_IMAGES):
                raise bad("IMAGE_PROCESS_FAILED")
            file_id, content = f"photo-{self.world.next()}", upload.content
        elif given in self.world.files:
            file_id, content = given, self.world.files[given]
        elif isinstance(given, str) and given.startswith(("http://", "https://")):
            file_id, content = f"photo-{self.world.next()}", b""
        elif given:
            raise bad("wrong remote file identifier specified: Wrong string length")
        else:
            raise bad("there is no photo in the request")
        self.world.files[file_id] = content
        size = {"width": 90, "height": 90, "file_size": len(content)}
        return [{"file_id": file_id, "file_unique_id": f"u-{file_id}", **size}]
