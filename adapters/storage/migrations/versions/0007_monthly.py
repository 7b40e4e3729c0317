"""How often referrals and notices were shown a month, by kind and by version"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "monthly",
        sa.Column("month", sa.Text, primary_key=True, comment="such as 2026-11"),
        sa.Column("subject", sa.Text, primary_key=True, comment="referral or notice"),
        sa.Column("name", sa.Text, primary_key=True, comment="what a referral was about, or a notice's version"),
        sa.Column("count", sa.Integer, nullable=False),
    )
