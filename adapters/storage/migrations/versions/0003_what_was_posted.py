"""What moderators posted, kept with the log of what they did"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "audit",
        sa.Column(
            "sealed",
            sa.LargeBinary(),
            nullable=True,
            comment="what was posted for everybody, sealed under the operator's secret",
        ),
    )
