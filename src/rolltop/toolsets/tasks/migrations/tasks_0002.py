"""What 0.1.0 left. Nothing is older, and no store is made so: its branch begins with a script."""

from __future__ import annotations

revision = "tasks_0002"
down_revision = None
branch_labels = ("tasks",)
depends_on = None
