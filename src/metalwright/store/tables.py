"""The tables, as the newest migration leaves them. `tests` compares them with a migrated database.

Conventions: times are seconds since 1970 (double); small structured values are JSON text made by `codec.json_codec`; there are no
foreign keys, because every row is written by one of few statements here and the check would cost a lookup per row.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)


class Words(TypeDecorator[str]):
    """Text in byte order on both stores, whatever the database's locale. NUL and lone surrogates, which PostgreSQL or UTF-8 refuse
    and which BMCs and agents may send, become U+FFFD."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        return dialect.type_descriptor(Text(collation="C") if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or (value.isascii() and "\x00" not in value):
            return value
        return value.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")


BIG = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite numbers rows by itself only in a column called INTEGER; its integers are 64 bits wide anyway."""

metadata = MetaData()


def _column(name: str, kind: Any, *, key: bool = False, null: bool = False, **options: Any) -> Column[Any]:
    return Column(name, kind, primary_key=key, nullable=null and not key, **options)


specs = Table("specs", metadata, _column("digest", Words, key=True), _column("body", LargeBinary), _column("adopted_at", Double))

site_plans = Table("site_plans", metadata, _column("number", BIG, key=True, autoincrement=False), _column("body", Text))

heads = Table("heads", metadata, _column("name", Words, key=True), _column("number", BIG, null=True), _column("digest", Words, null=True))
"""Single values that are swapped or counted: `spec` (digest), `site-plan`, `order` (last number), `log` (size)."""

subjects = Table(
    "subjects",
    metadata,
    _column("subject", Words, key=True),
    _column("shard", Words),
    _column("is_active", Boolean),
    _column("next_due_at", Double),
    _column("wakes", BIG),
    _column("head", BIG, null=True),
    _column("wait", Words, null=True),
    _column("wait_text", Words, null=True),
    _column("wait_since", Double, null=True),
    _column("is_overdue", Boolean, null=True),
    Index("subjects_due", "shard", "next_due_at"),
)

orders = Table(
    "orders",
    metadata,
    _column("number", BIG, key=True, autoincrement=False),
    _column("subject", Words),
    _column("parent", BIG, null=True),
    _column("site_plan", BIG),
    _column("goal", Words),
    _column("wish_digest", Words),
    _column("digest", Words),
    _column("made_at", Double),
    _column("body", Text),
    Index("orders_rounds", "subject", "goal", "wish_digest"),
)

runs = Table(
    "runs",
    metadata,
    _column("order_number", BIG, key=True, autoincrement=False),
    _column("step", Integer, key=True, autoincrement=False),
    _column("attempt", Integer, key=True, autoincrement=False),
    _column("state", Words),
    _column("began_at", Double),
    _column("baseline", Text),
    _column("epoch", BIG),
    _column("ended_at", Double, null=True),
    _column("detail", Words),
    _column("retry_at", Double, null=True),
    _column("needs_person", Boolean),
)

operations = Table(
    "operations",
    metadata,
    _column("id", Words, key=True),
    _column("subject", Words),
    _column("order_number", BIG),
    _column("step", Text),
    _column("state", Words),
    _column("generation", BIG),
    _column("ordered_at", Double),
    _column("deadline_at", Double),
    _column("units_done", BIG),
    _column("units_total", BIG),
    _column("heartbeat_at", Double, null=True),
    _column("checkpoint", Words),
    _column("cancel_wanted", Boolean),
    _column("detail", Words),
    _column("boot_id", Words, null=True),
    Index("operations_order", "order_number"),
    Index(
        "operations_open",
        "subject",
        sqlite_where=text("state IN ('ordered', 'running')"),
        postgresql_where=text("state IN ('ordered', 'running')"),
    ),
)

grants = Table(
    "grants",
    metadata,
    _column("id", Words, key=True),
    _column("node", Words),
    _column("order_number", BIG),
    _column("stage", Words),
    _column("token_hash", Words),
    _column("opens_at", Double),
    _column("expires_at", Double),
    _column("claimed_at", Double, null=True),
    _column("boot_id", Words, null=True),
    _column("session_hash", Words, null=True),
    _column("system_serial", Words, null=True),
    _column("uuid", Words, null=True),
    _column("last_contact_at", Double, null=True),
    _column("kernel", Words, null=True),
    _column("agent_version", Words, null=True),
    _column("conflicts", Integer),
    _column("revoked", Boolean),
    Index("grants_token", "token_hash", unique=True),
    Index("grants_session", "session_hash", unique=True),
    Index("grants_node", "node", "opens_at"),
    Index("grants_order", "order_number"),
)

permits = Table(
    "permits",
    metadata,
    _column("subject", Words, key=True),
    _column("order_number", BIG),
    _column("domains", Text),
    _column("watts", BIG),
    _column("expires_at", Double),
)

verdicts = Table(
    "verdicts",
    metadata,
    _column("subject", Words, key=True),
    _column("gate", Words, key=True),
    _column("digest", Words),
    _column("colour", Words),
    _column("red", Words),
    _column("body", Text),
)

seen = Table(
    "seen",
    metadata,
    _column("subject", Words, key=True),
    _column("kind", Words, key=True),
    _column("witness", Words, key=True),
    _column("seen_at", Double),
    _column("digest", Words, null=True),
    _column("failure", Words),
    _column("failure_class", Words),
    _column("gaps", Text),
    Index("seen_digest", "digest"),
)
"""The last look per (subject, kind, witness): narrow, because it is rewritten at every look."""

bodies = Table(
    "bodies",
    metadata,
    _column("digest", Words, key=True),
    _column("body", LargeBinary),
    _column("unused_since", Double, null=True),
    Index("bodies_unused", "unused_since"),
)
"""What was seen, by the digest of the bytes: written once, however often it is seen again."""

citations = Table("citations", metadata, _column("digest", Words, key=True))
"""Bodies a recorded verdict rests on: kept for as long as the evidence is."""

leases = Table(
    "leases",
    metadata,
    _column("shard", Words, key=True),
    _column("is_active", Boolean),
    _column("worker", Words, null=True),
    _column("epoch", BIG),
    _column("expires_at", Double),
)

workers = Table("workers", metadata, _column("worker", Words, key=True), _column("expires_at", Double))

statements = Table(
    "statements",
    metadata,
    _column("sequence", BIG, key=True, autoincrement=True),
    _column("statement_key", Words),
    _column("body", Text),
    _column("log_index", BIG, null=True),
    Index("statements_key", "statement_key", unique=True),
    Index("statements_pending", "sequence", sqlite_where=text("log_index IS NULL"), postgresql_where=text("log_index IS NULL")),
)
"""Every statement ever made, by its once-only key. Pending while `log_index` is null; then the body lives in the log's envelope."""

log = Table(
    "log",
    metadata,
    _column("log_index", BIG, key=True, autoincrement=False),
    _column("statement_key", Words),
    _column("kind", Words),
    _column("about", Words),
    _column("envelope", LargeBinary),
    _column("logged_at", Double),
    Index("log_key", "statement_key", unique=True),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    _column("size", BIG, key=True, autoincrement=False),
    _column("origin", Words),
    _column("root", Words),
    _column("note", Text),
    _column("made_at", Double),
)

requests = Table(
    "requests",
    metadata,
    _column("id", BIG, key=True, autoincrement=True),
    _column("kind", Words),
    _column("subject", Words),
    _column("body", Text),
    _column("made_at", Double),
    Index("requests_of", "kind", "subject", "id"),
)
