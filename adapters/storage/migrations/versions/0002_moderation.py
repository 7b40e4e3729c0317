"""Replies that wait for a moderator, what moderators did, what they posted, what they have set"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False, comment="hours since 1970"),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column(
            "moderator",
            sa.LargeBinary(length=16),
            nullable=False,
            comment="pseudonym for this table alone; empty for nobody",
        ),
        sa.Column("target", sa.Text(), nullable=False, comment="kind of thing, never which one"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_audit_hour", "audit", ["hour"], unique=False)

    op.create_table(
        "posts",
        sa.Column(
            "post", sa.LargeBinary(length=16), nullable=False, comment="random; the buttons of moderators carry it"
        ),
        sa.Column("day", sa.Integer(), nullable=False, comment="days since 1970 of its draft"),
        sa.Column("posted", sa.Integer(), nullable=False, comment="1 when members can read it"),
        sa.Column(
            "sealed",
            sa.LargeBinary(),
            nullable=False,
            comment="text, source and place, sealed under the operator's secret",
        ),
        sa.PrimaryKeyConstraint("post"),
    )
    op.create_index("ix_posts_day", "posts", ["day"], unique=False)

    op.create_table(
        "reviews",
        sa.Column(
            "review", sa.LargeBinary(length=16), nullable=False, comment="random; the buttons of moderators carry it"
        ),
        sa.Column("chat", sa.LargeBinary(length=16), nullable=False, comment="chat key"),
        sa.Column("day", sa.Integer(), nullable=False, comment="days since 1970 when the reply was held back"),
        sa.Column(
            "sealed", sa.LargeBinary(), nullable=False, comment="the reply that waits, sealed under the inbox's own key"
        ),
        sa.PrimaryKeyConstraint("review"),
    )
    op.create_index("ix_reviews_chat", "reviews", ["chat"], unique=False)
    op.create_index("ix_reviews_day", "reviews", ["day"], unique=False)

    op.create_table(
        "standing",
        sa.Column("platform", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False, comment="mode, pause and what is blocked, as JSON"),
        sa.PrimaryKeyConstraint("platform"),
    )
