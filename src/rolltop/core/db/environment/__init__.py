"""The folder Alembic takes its env.py from."""
