"""How Alembic reaches the database: through the connection it is handed, in the transaction that is open on it.

The stores open that transaction so that two processes that start at once do not migrate at once. From Alembic's own
command line (`alembic -c service/migrations/alembic.ini -x url=sqlite:///FILE ...`) the URL is given; that is for making
a new revision, never for running a service.
"""

from alembic import context
from sqlalchemy import Connection, create_engine

from service.tables import METADATA


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


handed: Connection | None = context.config.attributes.get("connection")
if handed is not None:
    _run(handed)
else:
    with create_engine(context.get_x_argument(as_dictionary=True)["url"]).connect() as own:
        _run(own)
