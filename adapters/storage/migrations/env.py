"""Alembic's entry: runs the migrations on the connection that `adapters/storage/schema_version.py` hands over."""

from alembic import context

from adapters.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
