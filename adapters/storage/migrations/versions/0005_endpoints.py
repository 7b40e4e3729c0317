"""What each endpoint of language models has cost a day"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "endpoint_spending",
        sa.Column("day", sa.Integer, primary_key=True, comment="days since 1970, UTC"),
        sa.Column("endpoint", sa.Text, primary_key=True, comment="its name in the settings"),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("cost", sa.Float, nullable=False, comment="in the currency of the price table"),
    )
