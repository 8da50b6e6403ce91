-- Written by `make schema` from the revisions beside this file.
CREATE TABLE tasks (
	id UUID NOT NULL,
	user_id UUID NOT NULL,
	title VARCHAR(200) NOT NULL,
	description VARCHAR(2000),
	status VARCHAR(9) COLLATE "C" NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	version INTEGER NOT NULL,
	priority INTEGER,
	due_at TIMESTAMP WITH TIME ZONE,
	parent_id UUID,
	links TEXT,
	claim_hash VARCHAR(64) COLLATE "C",
	claimed_until TIMESTAMP WITH TIME ZONE,
	deleted_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_tasks PRIMARY KEY (id),
	CONSTRAINT uq_tasks_user_id_id UNIQUE (user_id, id),
	CONSTRAINT fk_tasks_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_tasks_parent_id FOREIGN KEY(parent_id) REFERENCES tasks (id) ON DELETE SET NULL,
	CONSTRAINT ck_tasks_status CHECK (status IN ('pending', 'completed')),
	CONSTRAINT ck_tasks_title CHECK (length(title) >= 1),
	CONSTRAINT ck_tasks_priority CHECK (priority BETWEEN 0 AND 4)
);

CREATE INDEX ix_tasks_user_id_created_at_id ON tasks (user_id, created_at, id);

CREATE INDEX ix_tasks_user_id_status_created_at_id ON tasks (user_id, status, created_at, id);

CREATE INDEX ix_tasks_parent_id_user_id_created_at_id ON tasks (parent_id, user_id, created_at, id);

CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at);

CREATE TABLE task_tags (
	user_id UUID NOT NULL,
	task_id UUID NOT NULL,
	tag VARCHAR(50) COLLATE "C" NOT NULL,
	CONSTRAINT pk_task_tags PRIMARY KEY (user_id, task_id, tag),
	CONSTRAINT fk_task_tags_user_id_task_id FOREIGN KEY(user_id, task_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE
);

CREATE INDEX ix_task_tags_user_id_tag_task_id ON task_tags (user_id, tag, task_id);

CREATE TABLE task_blockers (
	user_id UUID NOT NULL,
	task_id UUID NOT NULL,
	blocker_id UUID NOT NULL,
	CONSTRAINT pk_task_blockers PRIMARY KEY (user_id, task_id, blocker_id),
	CONSTRAINT fk_task_blockers_user_id_task_id FOREIGN KEY(user_id, task_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE,
	CONSTRAINT fk_task_blockers_user_id_blocker_id FOREIGN KEY(user_id, blocker_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE
);

CREATE INDEX ix_task_blockers_user_id_blocker_id ON task_blockers (user_id, blocker_id);

CREATE INDEX ix_tasks_next ON tasks (user_id, coalesce(priority, 5), (due_at IS NULL), due_at, created_at, id) WHERE status = 'pending' AND deleted_at IS NULL;

DROP INDEX ix_tasks_deleted_at;

CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;

ALTER TABLE tasks ADD COLUMN project VARCHAR(100);

ALTER TABLE tasks ADD COLUMN claimed_by VARCHAR(200);

ALTER TABLE tasks ADD COLUMN acceptance TEXT;

ALTER TABLE tasks ADD COLUMN evidence TEXT;

ALTER TABLE tasks ADD COLUMN requires_evidence BOOLEAN;

ALTER TABLE tasks ADD COLUMN reopen_on_change BOOLEAN;

ALTER TABLE tasks ADD COLUMN assignee VARCHAR(254) COLLATE "C";

CREATE TABLE task_comments (
	user_id UUID NOT NULL,
	task_id UUID NOT NULL,
	version INTEGER NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	author VARCHAR(200) NOT NULL,
	text TEXT NOT NULL,
	CONSTRAINT pk_task_comments PRIMARY KEY (user_id, task_id, version),
	CONSTRAINT fk_task_comments_user_id_task_id FOREIGN KEY(user_id, task_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE
);

CREATE INDEX ix_tasks_user_id_updated_at ON tasks (user_id, updated_at) WHERE evidence IS NOT NULL;

CREATE INDEX ix_tasks_begun ON tasks (user_id, claimed_until) WHERE status = 'pending' AND deleted_at IS NULL AND claimed_until IS NOT NULL;

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON task_tags FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON task_blockers FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON task_comments FOR EACH ROW EXECUTE FUNCTION journal_rows();
