"""The first tables"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "chats",
        sa.Column("chat", sa.LargeBinary(16), primary_key=True, comment="chat key"),
        sa.Column(
            "version", sa.Integer, nullable=False, comment="grows with every write, so that a late writer is refused"
        ),
        sa.Column("seen_hour", sa.Integer, nullable=False, index=True, comment="hours since 1970 of the last turn"),
        sa.Column("sealed", sa.LargeBinary, nullable=False, comment="the state, sealed for this chat"),
    )
    op.create_table(
        "inbox",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("chat", sa.LargeBinary(16), nullable=False, index=True, comment="chat key"),
        sa.Column("attempts", sa.Integer, nullable=False, comment="how often the process ended while it was answered"),
        sa.Column("sealed", sa.LargeBinary, nullable=False, comment="the message, sealed under the inbox's own key"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "asked",
        sa.Column("person", sa.LargeBinary(16), primary_key=True, comment="pseudonym for this table alone"),
        sa.Column("day", sa.Integer, nullable=False, index=True, comment="days since 1970 when feedback was asked for"),
    )
    op.create_table(
        "polls",
        sa.Column("poll", sa.LargeBinary(16), primary_key=True, comment="pseudonym of the platform's poll"),
        sa.Column("chat", sa.LargeBinary(16), nullable=False, index=True, comment="chat key"),
        sa.Column("day", sa.Integer, nullable=False, index=True, comment="days since 1970 when it was shown"),
        sa.Column("sealed", sa.LargeBinary, nullable=False, comment="its question, sealed for this poll"),
    )
    op.create_table(
        "cursors",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.BigInteger, nullable=False, comment="number of the last update taken from a platform"),
    )
    op.create_table(
        "secrets",
        sa.Column(
            "id", sa.LargeBinary(4), primary_key=True, comment="names a secret that was in use with this database"
        ),
        sa.Column("day", sa.Integer, nullable=False, comment="days since 1970 when it was last the present one"),
    )
    op.create_table(
        "events",
        sa.Column("week", sa.Text, primary_key=True, comment="ISO 8601, such as 2026-W47"),
        sa.Column("platform", sa.Text, primary_key=True),
        sa.Column("assistant", sa.Text, primary_key=True),
        sa.Column("question", sa.Text, primary_key=True),
        sa.Column("option", sa.Text, primary_key=True),
        sa.Column("sources", sa.Text, primary_key=True, comment="ids, sorted, with spaces between"),
        sa.Column("decision", sa.Text, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("event", sa.Text, nullable=False, comment="one feedback event as JSON, on its way to the webhook"),
    )
    op.create_table(
        "referrals",
        sa.Column("week", sa.Text, primary_key=True),
        sa.Column("platform", sa.Text, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "spending",
        sa.Column("day", sa.Integer, primary_key=True, comment="days since 1970, UTC"),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float, nullable=False, comment="in the currency of the price table"),
    )
