"""What open pages show, where several processes serve them"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None
_CHAT = "pseudonym for this table alone; what open pages wake up at"


def upgrade() -> None:
    op.create_table(
        "boards",
        sa.Column("chat", sa.LargeBinary(16), primary_key=True, comment=_CHAT),
        sa.Column("version", sa.Integer, nullable=False, comment="another one with every write"),
        sa.Column("seen_hour", sa.Integer, nullable=False, comment="hours since 1970 of the last write"),
        sa.Column("sealed", sa.LargeBinary, nullable=False, comment="what the page shows, sealed for this chat"),
    )
    op.create_index("ix_boards_seen_hour", "boards", ["seen_hour"])
