"""Numbers of last updates lie sealed, as Discord's tell a time; a reply that waits names whom to tell when it is lost"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("reviews", sa.Column("person", sa.LargeBinary(16), comment="pseudonym for this table alone"))
    rows = op.get_bind().execute(sa.text("SELECT name, value FROM cursors")).all()
    op.drop_table("cursors")
    made = op.create_table(
        "cursors",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column(
            "sealed",
            sa.LargeBinary,
            nullable=False,
            comment="number of the last update taken from a platform, sealed under the operator's secret",
        ),
    )
    # There is no secret here: a first byte of nought says that it is to be sealed at the next start.
    if rows:
        op.bulk_insert(
            made, [{"name": name, "sealed": b"\x00" + int(value).to_bytes(8, "big")} for name, value in rows]
        )
