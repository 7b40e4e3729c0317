"""Numbers of waiting messages and events in eight bytes on PostgreSQL; SQLite's are as long already"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in ("inbox", "outbox"):
        op.alter_column(table, "id", type_=sa.BigInteger)
        op.execute(f"ALTER SEQUENCE {table}_id_seq AS bigint")
