"""What 0.1.0 left. Nothing is older, and no store is made so: its branch begins with a script."""

from __future__ import annotations

revision = "scratch_0001"
down_revision = None
branch_labels = ("scratch",)
depends_on = None
