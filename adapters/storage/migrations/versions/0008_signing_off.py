"""Who works on the sources, what they propose, and topics that nothing was found on"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "members",
        sa.Column("member", sa.LargeBinary(16), primary_key=True, comment="random"),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("day", sa.Integer, nullable=False, comment="days since 1970 of the first invitation"),
        sa.Column(
            "sealed", sa.LargeBinary, nullable=False, comment="name and profession, sealed under the operator's secret"
        ),
    )
    for name, held, whose in (
        ("invitations", "link", None),
        ("sign_ins", "cookie", "empty for whoever has the operator's token"),
    ):
        op.create_table(
            name,
            sa.Column("token", sa.LargeBinary(32), primary_key=True, comment=f"hash of what the {held} holds"),
            sa.Column("member", sa.LargeBinary(16), nullable=False, comment=whose),
            sa.Column(
                "until",
                sa.Integer,
                nullable=False,
                comment=f"minutes since 1970; after it the {held} opens nothing",
            ),
        )
        op.create_index(f"ix_{name}_until", name, ["until"], unique=False)
    op.create_table(
        "proposals",
        sa.Column("proposal", sa.LargeBinary(16), primary_key=True, comment="random"),
        sa.Column("assistant", sa.Text, nullable=False),
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("day", sa.Integer, nullable=False, comment="days since 1970 of the proposal"),
        sa.Column("state", sa.Text, nullable=False, comment="open, approved, refused or withdrawn"),
        sa.Column("proposer", sa.LargeBinary(16), nullable=False),
        sa.Column("decider", sa.LargeBinary(16), comment="who approved or refused it"),
        sa.Column(
            "sealed", sa.LargeBinary, nullable=False, comment="text and reasons, sealed under the operator's secret"
        ),
    )
    op.create_index("ix_proposals_day", "proposals", ["day"], unique=False)
    op.create_table(
        "unanswered",
        sa.Column("week", sa.Text, primary_key=True, comment="ISO 8601, such as 2026-W47"),
        sa.Column("assistant", sa.Text, primary_key=True),
        sa.Column("topic", sa.Text, primary_key=True, comment="a topic of ours, never a word that somebody wrote"),
        sa.Column("count", sa.Integer, nullable=False),
    )
