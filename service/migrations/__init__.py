"""The history of the tables, for Alembic: `database.migrate` runs it, nothing else needs to know it is here."""
