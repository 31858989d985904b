"""Alembic's entry: runs the migrations on the connection, and in the transaction, that `store.migrate` hands over."""

from alembic import context

from metalwright.store.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
