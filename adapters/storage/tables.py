"""Every table there is, and for each of them what `/forget` does with it.

No column holds a name, a platform's id, a message or an exact time in clear. `info["of_a_chat"]` says whether rows belong to one
chat: then `adapters/storage/erasure.py` has an eraser for the table, which a test proves. `info["because"]` says why
`/forget` leaves a table of moderators' work alone.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()
LONG = BigInteger().with_variant(Integer, "sqlite")
"""A number a row that is never given again: four bytes would last a year and a half at five million messages a day."""

chats = Table(
    "chats",
    metadata,
    Column("chat", LargeBinary(16), primary_key=True, comment="chat key"),
    Column("version", Integer, nullable=False, comment="grows with every write, so that a late writer is refused"),
    Column("seen_hour", Integer, nullable=False, index=True, comment="hours since 1970 of the last turn"),
    Column("sealed", LargeBinary, nullable=False, comment="the state, sealed for this chat"),
    info={"of_a_chat": True},
)
inbox = Table(
    "inbox",
    metadata,
    Column("id", LONG, primary_key=True),
    Column("chat", LargeBinary(16), nullable=False, index=True, comment="chat key"),
    Column("attempts", Integer, nullable=False, default=0, comment="how often the process ended while it was answered"),
    Column("sealed", LargeBinary, nullable=False, comment="the message, sealed under the inbox's own key"),
    info={"of_a_chat": True},
    sqlite_autoincrement=True,
)
asked = Table(
    "asked",
    metadata,
    Column("person", LargeBinary(16), primary_key=True, comment="pseudonym for this table alone"),
    Column("day", Integer, nullable=False, index=True, comment="days since 1970 when feedback was asked for"),
    info={"of_a_chat": True},
)
polls = Table(
    "polls",
    metadata,
    Column("poll", LargeBinary(16), primary_key=True, comment="pseudonym of the platform's poll"),
    Column("chat", LargeBinary(16), nullable=False, index=True, comment="chat key"),
    Column("day", Integer, nullable=False, index=True, comment="days since 1970 when it was shown"),
    Column("sealed", LargeBinary, nullable=False, comment="its question, sealed for this poll"),
    info={"of_a_chat": True},
)
boards = Table(
    "boards",
    metadata,
    Column(
        "chat", LargeBinary(16), primary_key=True, comment="pseudonym for this table alone; what open pages wake up at"
    ),
    Column("version", Integer, nullable=False, comment="another one with every write"),
    Column("seen_hour", Integer, nullable=False, index=True, comment="hours since 1970 of the last write"),
    Column("sealed", LargeBinary, nullable=False, comment="what the page shows, sealed for this chat"),
    info={"of_a_chat": True},
)
cursors = Table(
    "cursors",
    metadata,
    Column("name", Text, primary_key=True),
    Column(
        "sealed",
        LargeBinary,
        nullable=False,
        comment="number of the last update taken from a platform, sealed under the operator's secret",
    ),
    info={"of_a_chat": False},
)
secrets = Table(
    "secrets",
    metadata,
    Column("id", LargeBinary(4), primary_key=True, comment="names a secret that was in use with this database"),
    Column("day", Integer, nullable=False, comment="days since 1970 when it was last the present one"),
    info={"of_a_chat": False},
)
events = Table(
    "events",
    metadata,
    Column("week", Text, primary_key=True, comment="ISO 8601, such as 2026-W47"),
    Column("platform", Text, primary_key=True),
    Column("assistant", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("option", Text, primary_key=True),
    Column("sources", Text, primary_key=True, comment="ids, sorted, with spaces between"),
    Column("decision", Text, primary_key=True),
    Column("count", Integer, nullable=False),
    info={"of_a_chat": False},
)
outbox = Table(
    "outbox",
    metadata,
    Column("id", LONG, primary_key=True),
    Column("event", Text, nullable=False, comment="one feedback event as JSON, on its way to the webhook"),
    info={"of_a_chat": False},
)
referrals = Table(
    "referrals",
    metadata,
    Column("week", Text, primary_key=True),
    Column("platform", Text, primary_key=True),
    Column("count", Integer, nullable=False),
    info={"of_a_chat": False},
)
monthly = Table(
    "monthly",
    metadata,
    Column("month", Text, primary_key=True, comment="such as 2026-11"),
    Column("subject", Text, primary_key=True, comment="referral or notice"),
    Column("name", Text, primary_key=True, comment="what a referral was about, or a notice's version"),
    Column("count", Integer, nullable=False),
    info={"of_a_chat": False},
)
spending = Table(
    "spending",
    metadata,
    Column("day", Integer, primary_key=True, comment="days since 1970, UTC"),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False, comment="in the currency of the price table"),
    info={"of_a_chat": False},
)
endpoint_spending = Table(
    "endpoint_spending",
    metadata,
    Column("day", Integer, primary_key=True, comment="days since 1970, UTC"),
    Column("endpoint", Text, primary_key=True, comment="its name in the settings"),
    Column("tokens", BigInteger, nullable=False),
    Column("cost", Float, nullable=False, comment="in the currency of the price table"),
    info={"of_a_chat": False},
)
reviews = Table(
    "reviews",
    metadata,
    Column("review", LargeBinary(16), primary_key=True, comment="random; the buttons of moderators carry it"),
    Column("chat", LargeBinary(16), nullable=False, index=True, comment="chat key"),
    Column("day", Integer, nullable=False, index=True, comment="days since 1970 when the reply was held back"),
    Column("sealed", LargeBinary, nullable=False, comment="the reply that waits, sealed under the inbox's own key"),
    Column("person", LargeBinary(16), comment="pseudonym for this table alone"),
    info={"of_a_chat": True},
)
audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hour", Integer, nullable=False, index=True, comment="hours since 1970"),
    Column("action", Text, nullable=False),
    Column("moderator", LargeBinary(16), nullable=False, comment="pseudonym for this table alone; empty for nobody"),
    Column("target", Text, nullable=False, comment="kind of thing, never which one"),
    Column("sealed", LargeBinary, comment="what was posted for everybody, sealed under the operator's secret"),
    info={
        "of_a_chat": False,
        "because": "it tells what moderators did, for whom a community answers; no row leads to a member or their words",
    },
)
posts = Table(
    "posts",
    metadata,
    Column("post", LargeBinary(16), primary_key=True, comment="random; the buttons of moderators carry it"),
    Column("day", Integer, nullable=False, index=True, comment="days since 1970 of its draft"),
    Column("posted", Integer, nullable=False, comment="1 when members can read it"),
    Column("sealed", LargeBinary, nullable=False, comment="text, source and place, sealed under the operator's secret"),
    info={
        "of_a_chat": False,
        "because": "a text of the knowledge base that moderators posted; no member had a part in it",
    },
)
standing = Table(
    "standing",
    metadata,
    Column("platform", Text, primary_key=True),
    Column("content", Text, nullable=False, comment="mode, pause and what is blocked, as JSON"),
    info={"of_a_chat": False, "because": "it is what moderators, or an operator, have set for everybody"},
)
members = Table(
    "members",
    metadata,
    Column("member", LargeBinary(16), primary_key=True, comment="random"),
    Column("role", Text, nullable=False),
    Column("day", Integer, nullable=False, comment="days since 1970 of the first invitation"),
    Column("sealed", LargeBinary, nullable=False, comment="name and profession, sealed under the operator's secret"),
    info={"of_a_chat": False, "because": "it names those who work on the sources, invited by the operator"},
)
invitations = Table(
    "invitations",
    metadata,
    Column("token", LargeBinary(32), primary_key=True, comment="hash of what the link holds"),
    Column("member", LargeBinary(16), nullable=False),
    Column("until", Integer, nullable=False, index=True, comment="minutes since 1970; after it the link opens nothing"),
    info={"of_a_chat": False, "because": "it is a way in for those who work on the sources"},
)
sign_ins = Table(
    "sign_ins",
    metadata,
    Column("token", LargeBinary(32), primary_key=True, comment="hash of what the cookie holds"),
    Column("member", LargeBinary(16), nullable=False, comment="empty for whoever has the operator's token"),
    Column(
        "until", Integer, nullable=False, index=True, comment="minutes since 1970; after it the cookie opens nothing"
    ),
    info={"of_a_chat": False, "because": "it keeps the operator's people signed in"},
)
proposals = Table(
    "proposals",
    metadata,
    Column("proposal", LargeBinary(16), primary_key=True, comment="random"),
    Column("assistant", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("day", Integer, nullable=False, index=True, comment="days since 1970 of the proposal"),
    Column("state", Text, nullable=False, comment="open, approved, refused or withdrawn"),
    Column("proposer", LargeBinary(16), nullable=False),
    Column("decider", LargeBinary(16), comment="who approved or refused it"),
    Column("sealed", LargeBinary, nullable=False, comment="text and reasons, sealed under the operator's secret"),
    info={"of_a_chat": False, "because": "a text of the knowledge base; no person of a chat had a part in it"},
)
unanswered = Table(
    "unanswered",
    metadata,
    Column("week", Text, primary_key=True, comment="ISO 8601, such as 2026-W47"),
    Column("assistant", Text, primary_key=True),
    Column("topic", Text, primary_key=True, comment="a topic of ours, never a word that somebody wrote"),
    Column("count", Integer, nullable=False),
    info={"of_a_chat": False},
)
