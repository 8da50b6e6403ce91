BEGIN TRANSACTION;
CREATE TABLE access_tokens (
	id CHAR(32) NOT NULL, 
	user_id CHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	token_hash VARCHAR(64) NOT NULL, 
	read_only BOOLEAN NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	expires_at VARCHAR(27), 
	last_used_at VARCHAR(27), 
	revoked_at VARCHAR(27), 
	CONSTRAINT pk_access_tokens PRIMARY KEY (id), 
	CONSTRAINT fk_access_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT uq_access_tokens_token_hash UNIQUE (token_hash)
);
INSERT INTO "access_tokens" VALUES('db1d30b039cb4e5f9e8c21b64474eed2','a89c6699c7d9484c865dc4824ff6e1fa','laptop','5d9163a963fe1e41cd06a299595e1cea74e23efab1460bbdc8b63216c54e59ea',1,'2026-11-21T23:09:43.793411Z',NULL,NULL,NULL);
CREATE TABLE reader_outlines (
	content VARCHAR(64) NOT NULL, 
	size INTEGER NOT NULL, 
	outline TEXT NOT NULL, 
	kept_at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_reader_outlines PRIMARY KEY (content)
);
CREATE TABLE rolltop_versions (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT rolltop_versions_pkc PRIMARY KEY (version_num)
);
INSERT INTO "rolltop_versions" VALUES('core_0001');
INSERT INTO "rolltop_versions" VALUES('reader_0001');
INSERT INTO "rolltop_versions" VALUES('tasks_0001');
CREATE TABLE task_blockers (
	user_id CHAR(32) NOT NULL, 
	task_id CHAR(32) NOT NULL, 
	blocker_id CHAR(32) NOT NULL, 
	CONSTRAINT pk_task_blockers PRIMARY KEY (user_id, task_id, blocker_id), 
	CONSTRAINT fk_task_blockers_user_id_task_id FOREIGN KEY(user_id, task_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE, 
	CONSTRAINT fk_task_blockers_user_id_blocker_id FOREIGN KEY(user_id, blocker_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE
);
CREATE TABLE task_tags (
	user_id CHAR(32) NOT NULL, 
	task_id CHAR(32) NOT NULL, 
	tag VARCHAR(50) NOT NULL, 
	CONSTRAINT pk_task_tags PRIMARY KEY (user_id, task_id, tag), 
	CONSTRAINT fk_task_tags_user_id_task_id FOREIGN KEY(user_id, task_id) REFERENCES tasks (user_id, id) ON DELETE CASCADE
);
INSERT INTO "task_tags" VALUES('a89c6699c7d9484c865dc4824ff6e1fa','9debe3f773fc4e7eabe7092e62abcacc','größe');
INSERT INTO "task_tags" VALUES('a89c6699c7d9484c865dc4824ff6e1fa','9debe3f773fc4e7eabe7092e62abcacc','home');
CREATE TABLE tasks (
	id CHAR(32) NOT NULL, 
	user_id CHAR(32) NOT NULL, 
	title VARCHAR(200) NOT NULL, 
	description VARCHAR(2000), 
	status VARCHAR(9) NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	updated_at VARCHAR(27) NOT NULL, 
	version INTEGER NOT NULL, 
	priority INTEGER, 
	due_at VARCHAR(27), 
	parent_id CHAR(32), 
	links TEXT, 
	claim_hash VARCHAR(64), 
	claimed_until VARCHAR(27), 
	deleted_at VARCHAR(27), 
	CONSTRAINT pk_tasks PRIMARY KEY (id), 
	CONSTRAINT uq_tasks_user_id_id UNIQUE (user_id, id), 
	CONSTRAINT fk_tasks_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_tasks_parent_id FOREIGN KEY(parent_id) REFERENCES tasks (id) ON DELETE SET NULL, 
	CONSTRAINT ck_tasks_status CHECK (status IN ('pending', 'completed')), 
	CONSTRAINT ck_tasks_title CHECK (length(title) >= 1), 
	CONSTRAINT ck_tasks_priority CHECK (priority BETWEEN 0 AND 4)
);
INSERT INTO "tasks" VALUES('7653bcecfbc34e54b9b025bc7fd6f1d2','a89c6699c7d9484c865dc4824ff6e1fa','Water the plants',NULL,'pending','2026-11-21T23:09:43.386737Z','2026-11-21T23:09:43.386737Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('75ce60b1ca7c463e948332282cc9e906','a89c6699c7d9484c865dc4824ff6e1fa','Żółć 😀','Ein Satz.
Und noch einer.','pending','2026-11-21T23:09:43.604189Z','2026-11-21T23:09:43.604189Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('d9ea660fd82a44fdbd694d9c1c8dae79','a89c6699c7d9484c865dc4824ff6e1fa','Pay the rent',NULL,'pending','2026-11-21T23:09:43.668130Z','2026-11-21T23:09:43.668130Z',1,0,'2026-02-01T08:00:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('9debe3f773fc4e7eabe7092e62abcacc','a89c6699c7d9484c865dc4824ff6e1fa','Pack',NULL,'completed','2026-11-21T23:09:43.724663Z','2026-11-21T23:09:43.779346Z',2,NULL,NULL,NULL,'["rolltop://note/1"]',NULL,NULL,NULL);
CREATE TABLE users (
	id CHAR(32) NOT NULL, 
	email VARCHAR(254) NOT NULL, 
	password_hash VARCHAR(255), 
	created_at VARCHAR(27) NOT NULL, 
	last_login_at VARCHAR(27), 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_email UNIQUE (email)
);
INSERT INTO "users" VALUES('a89c6699c7d9484c865dc4824ff6e1fa','default@localhost',NULL,'2026-11-21T23:09:43.357901Z',NULL);
CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);
CREATE INDEX ix_reader_outlines_kept_at ON reader_outlines (kept_at);
CREATE INDEX ix_tasks_user_id_created_at_id ON tasks (user_id, created_at, id);
CREATE INDEX ix_tasks_user_id_status_created_at_id ON tasks (user_id, status, created_at, id);
CREATE INDEX ix_tasks_parent_id ON tasks (parent_id);
CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at);
CREATE INDEX ix_task_tags_user_id_tag ON task_tags (user_id, tag);
CREATE INDEX ix_task_blockers_user_id_blocker_id ON task_blockers (user_id, blocker_id);
COMMIT;
