"""The first tables. Frozen: a later change is a later migration."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from metalwright.store.tables import BIG, Words

revision: str = "0001"
down_revision: str | None = None
branch_labels: Sequence[str] | None = None
depends_on: Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "bodies",
        sa.Column("digest", Words(), primary_key=True, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("unused_since", sa.Double(), nullable=True),
    )
    op.create_index("bodies_unused", "bodies", ["unused_since"])
    op.create_table(
        "checkpoints",
        sa.Column("size", BIG, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("origin", Words(), nullable=False),
        sa.Column("root", Words(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "citations",
        sa.Column("digest", Words(), primary_key=True, nullable=False),
    )
    op.create_table(
        "grants",
        sa.Column("id", Words(), primary_key=True, nullable=False),
        sa.Column("node", Words(), nullable=False),
        sa.Column("order_number", BIG, nullable=False),
        sa.Column("stage", Words(), nullable=False),
        sa.Column("token_hash", Words(), nullable=False),
        sa.Column("opens_at", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
        sa.Column("claimed_at", sa.Double(), nullable=True),
        sa.Column("boot_id", Words(), nullable=True),
        sa.Column("session_hash", Words(), nullable=True),
        sa.Column("system_serial", Words(), nullable=True),
        sa.Column("uuid", Words(), nullable=True),
        sa.Column("last_contact_at", sa.Double(), nullable=True),
        sa.Column("kernel", Words(), nullable=True),
        sa.Column("agent_version", Words(), nullable=True),
        sa.Column("conflicts", sa.Integer(), nullable=False),
        sa.Column("revoked", sa.Boolean(), nullable=False),
    )
    op.create_index("grants_node", "grants", ["node", "opens_at"])
    op.create_index("grants_order", "grants", ["order_number"])
    op.create_index("grants_session", "grants", ["session_hash"], unique=True)
    op.create_index("grants_token", "grants", ["token_hash"], unique=True)
    op.create_table(
        "heads",
        sa.Column("name", Words(), primary_key=True, nullable=False),
        sa.Column("number", BIG, nullable=True),
        sa.Column("digest", Words(), nullable=True),
    )
    op.create_table(
        "leases",
        sa.Column("shard", Words(), primary_key=True, nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("worker", Words(), nullable=True),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "log",
        sa.Column("log_index", BIG, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("statement_key", Words(), nullable=False),
        sa.Column("kind", Words(), nullable=False),
        sa.Column("about", Words(), nullable=False),
        sa.Column("envelope", sa.LargeBinary(), nullable=False),
        sa.Column("logged_at", sa.Double(), nullable=False),
    )
    op.create_index("log_key", "log", ["statement_key"], unique=True)
    op.create_table(
        "operations",
        sa.Column("id", Words(), primary_key=True, nullable=False),
        sa.Column("subject", Words(), nullable=False),
        sa.Column("order_number", BIG, nullable=False),
        sa.Column("step", sa.Text(), nullable=False),
        sa.Column("state", Words(), nullable=False),
        sa.Column("generation", BIG, nullable=False),
        sa.Column("ordered_at", sa.Double(), nullable=False),
        sa.Column("deadline_at", sa.Double(), nullable=False),
        sa.Column("units_done", BIG, nullable=False),
        sa.Column("units_total", BIG, nullable=False),
        sa.Column("heartbeat_at", sa.Double(), nullable=True),
        sa.Column("checkpoint", Words(), nullable=False),
        sa.Column("cancel_wanted", sa.Boolean(), nullable=False),
        sa.Column("detail", Words(), nullable=False),
        sa.Column("boot_id", Words(), nullable=True),
    )
    op.create_index(
        "operations_open",
        "operations",
        ["subject"],
        sqlite_where=sa.text("state IN ('ordered', 'running')"),
        postgresql_where=sa.text("state IN ('ordered', 'running')"),
    )
    op.create_index("operations_order", "operations", ["order_number"])
    op.create_table(
        "orders",
        sa.Column("number", BIG, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("subject", Words(), nullable=False),
        sa.Column("parent", BIG, nullable=True),
        sa.Column("site_plan", BIG, nullable=False),
        sa.Column("goal", Words(), nullable=False),
        sa.Column("wish_digest", Words(), nullable=False),
        sa.Column("digest", Words(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("orders_rounds", "orders", ["subject", "goal", "wish_digest"])
    op.create_table(
        "permits",
        sa.Column("subject", Words(), primary_key=True, nullable=False),
        sa.Column("order_number", BIG, nullable=False),
        sa.Column("domains", sa.Text(), nullable=False),
        sa.Column("watts", BIG, nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("id", BIG, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("kind", Words(), nullable=False),
        sa.Column("subject", Words(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Double(), nullable=False),
    )
    op.create_index("requests_of", "requests", ["kind", "subject", "id"])
    op.create_table(
        "runs",
        sa.Column("order_number", BIG, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("step", sa.Integer(), primary_key=True, autoincrement=False, nullable=False),
        sa.Column("attempt", sa.Integer(), primary_key=True, autoincrement=False, nullable=False),
        sa.Column("state", Words(), nullable=False),
        sa.Column("began_at", sa.Double(), nullable=False),
        sa.Column("baseline", sa.Text(), nullable=False),
        sa.Column("epoch", BIG, nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("detail", Words(), nullable=False),
        sa.Column("retry_at", sa.Double(), nullable=True),
        sa.Column("needs_person", sa.Boolean(), nullable=False),
    )
    op.create_table(
        "seen",
        sa.Column("subject", Words(), primary_key=True, nullable=False),
        sa.Column("kind", Words(), primary_key=True, nullable=False),
        sa.Column("witness", Words(), primary_key=True, nullable=False),
        sa.Column("seen_at", sa.Double(), nullable=False),
        sa.Column("digest", Words(), nullable=True),
        sa.Column("failure", Words(), nullable=False),
        sa.Column("failure_class", Words(), nullable=False),
        sa.Column("gaps", sa.Text(), nullable=False),
    )
    op.create_index("seen_digest", "seen", ["digest"])
    op.create_table(
        "site_plans",
        sa.Column("number", BIG, primary_key=True, autoincrement=False, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "specs",
        sa.Column("digest", Words(), primary_key=True, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("adopted_at", sa.Double(), nullable=False),
    )
    op.create_table(
        "statements",
        sa.Column("sequence", BIG, primary_key=True, autoincrement=True, nullable=False),
        sa.Column("statement_key", Words(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("log_index", BIG, nullable=True),
    )
    op.create_index("statements_key", "statements", ["statement_key"], unique=True)
    op.create_index(
        "statements_pending",
        "statements",
        ["sequence"],
        sqlite_where=sa.text("log_index IS NULL"),
        postgresql_where=sa.text("log_index IS NULL"),
    )
    op.create_table(
        "subjects",
        sa.Column("subject", Words(), primary_key=True, nullable=False),
        sa.Column("shard", Words(), nullable=False),
        sa.Column("is_active", sa.Boolean(), nullable=False),
        sa.Column("next_due_at", sa.Double(), nullable=False),
        sa.Column("wakes", BIG, nullable=False),
        sa.Column("head", BIG, nullable=True),
        sa.Column("wait", Words(), nullable=True),
        sa.Column("wait_text", Words(), nullable=True),
        sa.Column("wait_since", sa.Double(), nullable=True),
        sa.Column("is_overdue", sa.Boolean(), nullable=True),
    )
    op.create_index("subjects_due", "subjects", ["shard", "next_due_at"])
    op.create_table(
        "verdicts",
        sa.Column("subject", Words(), primary_key=True, nullable=False),
        sa.Column("gate", Words(), primary_key=True, nullable=False),
        sa.Column("digest", Words(), nullable=False),
        sa.Column("colour", Words(), nullable=False),
        sa.Column("red", Words(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_table(
        "workers",
        sa.Column("worker", Words(), primary_key=True, nullable=False),
        sa.Column("expires_at", sa.Double(), nullable=False),
    )
    heads = sa.table("heads", sa.column("name"), sa.column("number"), sa.column("digest"))
    op.bulk_insert(
        heads,
        [
            {"name": "spec", "number": None, "digest": None},
            {"name": "site-plan", "number": None, "digest": None},
            {"name": "order", "number": 0, "digest": None},
            {"name": "log", "number": 0, "digest": None},
        ],
    )
