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
INSERT INTO "access_tokens" VALUES('c407c5c588754c4e8fee6304aaeb31ea','bb681f1b0dbe48dabec0a38ab18da681','laptop','e9c24d1ac987f77bce7e38e603ff63bba5106e82c9afb55072c73c7d7d580a27',1,'2026-11-21T23:37:10.932979Z',NULL,NULL,NULL);
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
INSERT INTO "task_tags" VALUES('bb681f1b0dbe48dabec0a38ab18da681','5a3d3207ef7e4e2b9b0fb42a2b4b689a','größe');
INSERT INTO "task_tags" VALUES('bb681f1b0dbe48dabec0a38ab18da681','5a3d3207ef7e4e2b9b0fb42a2b4b689a','home');
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
INSERT INTO "tasks" VALUES('7e15eaeb38d94e2a9c66cfa2cda222c3','bb681f1b0dbe48dabec0a38ab18da681','Water the plants',NULL,'pending','2026-11-21T23:37:10.412280Z','2026-11-21T23:37:10.412280Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('2cccc80c2d5d43ca9dfba4d1ce3b65bf','bb681f1b0dbe48dabec0a38ab18da681','Żółć 😀','Ein Satz.
Und noch einer.','pending','2026-11-21T23:37:10.821714Z','2026-11-21T23:37:10.821714Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('d2b5c0fdf42942948d8b326b8f5ca863','bb681f1b0dbe48dabec0a38ab18da681','Pay the rent',NULL,'pending','2026-11-21T23:37:10.840682Z','2026-11-21T23:37:10.840682Z',1,0,'2026-02-01T08:00:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('5a3d3207ef7e4e2b9b0fb42a2b4b689a','bb681f1b0dbe48dabec0a38ab18da681','Pack',NULL,'completed','2026-11-21T23:37:10.865477Z','2026-11-21T23:37:10.916621Z',2,NULL,NULL,NULL,'["rolltop://note/1"]',NULL,NULL,NULL);
CREATE TABLE users (
	id CHAR(32) NOT NULL, 
	email VARCHAR(254) NOT NULL, 
	password_hash VARCHAR(255), 
	created_at VARCHAR(27) NOT NULL, 
	last_login_at VARCHAR(27), 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_email UNIQUE (email)
);
INSERT INTO "users" VALUES('bb681f1b0dbe48dabec0a38ab18da681','default@localhost',NULL,'2026-11-21T23:37:10.362586Z',NULL);
CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);
CREATE INDEX ix_reader_outlines_kept_at ON reader_outlines (kept_at);
CREATE INDEX ix_tasks_user_id_created_at_id ON tasks (user_id, created_at, id);
CREATE INDEX ix_tasks_user_id_status_created_at_id ON tasks (user_id, status, created_at, id);
CREATE INDEX ix_tasks_parent_id_user_id_created_at_id ON tasks (parent_id, user_id, created_at, id);
CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at);
CREATE INDEX ix_task_tags_user_id_tag_task_id ON task_tags (user_id, tag, task_id);
CREATE INDEX ix_task_blockers_user_id_blocker_id ON task_blockers (user_id, blocker_id);
COMMIT;
