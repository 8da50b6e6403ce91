"""The schema of tasks, revision by revision."""

HEAD = "tasks_0007"
