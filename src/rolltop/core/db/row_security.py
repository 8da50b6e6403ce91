"""Row-level security on PostgreSQL: the second lock between tenants, behind the statements' own.

Every transaction says at its beginning whose it is. The policy of each table with a tenant's rows
lets through only those, for the tables' owner too. A transaction that says nothing fails at the
first such table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import text

from rolltop.core.db.engine import EVERY_TENANT, SETTING

if TYPE_CHECKING:
    from sqlalchemy import Connection

TENANT_COLUMNS: Final = ("user_id", "workspace_id")
"""A table with one of these columns holds a tenant's rows."""

# By a subquery, which runs once a statement and not for each row. NOT NULL and not a comparison:
# the planner takes it for true, and so makes the plans that it makes without the policy.
_POLICY: Final = (
    "{column} = (SELECT CAST(nullif(current_setting('{setting}'), '{every}') AS uuid))"
    " OR nullif(current_setting('{setting}') = '{every}', false) IS NOT NULL"
)
_UNPROTECTED: Final = text(
    "SELECT rows.relname, owner.attname FROM pg_class AS rows"
    " JOIN pg_attribute AS owner ON owner.attrelid = rows.oid AND owner.attname = ANY(:columns)"
    " WHERE rows.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())"
    " AND rows.relkind = 'r' AND NOT rows.relrowsecurity ORDER BY rows.relname"
)


def widen(connection: Connection) -> None:
    """Let the rest of a transaction see all rows, for a caller who may act as any user."""
    connection.exec_driver_sql(f"SET LOCAL {SETTING} = '{EVERY_TENANT}'")


def protect_tables(connection: Connection) -> None:
    """Give every table of tenants' rows its policy that has none yet, in the open transaction."""
    found = connection.execute(_UNPROTECTED, {"columns": list(TENANT_COLUMNS)}).all()
    for name, column in found:
        table = f'ALTER TABLE "{name}"'
        policy = _POLICY.format(column=column, setting=SETTING, every=EVERY_TENANT)
        connection.exec_driver_sql(
            f'CREATE POLICY tenant ON "{name}" USING ({policy}); '
            f"{table} ENABLE ROW LEVEL SECURITY; {table} FORCE ROW LEVEL SECURITY"
        )


def is_enforced(connection: Connection) -> bool:
    """Whether policies hold for the role of the connection: superusers pass them, for example."""
    return bool(connection.execute(text("SELECT row_security_active('journal')")).scalar_one())
