-- Written by `make schema` from the revisions beside this file.
CREATE TABLE note_accounts (
	user_id CHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	is_active BOOLEAN NOT NULL,
	username VARCHAR(320),
	cursor TEXT,
	status VARCHAR(20) NOT NULL,
	error_count INTEGER NOT NULL,
	last_sync_at DOUBLE,
	sync_duration_ms DOUBLE,
	state TEXT NOT NULL,
	CONSTRAINT pk_note_accounts PRIMARY KEY (user_id, account),
	CONSTRAINT fk_note_accounts_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE notes (
	number INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	id VARCHAR(256) NOT NULL,
	trash BOOLEAN NOT NULL,
	modified DOUBLE NOT NULL,
	created DOUBLE NOT NULL,
	local_version INTEGER NOT NULL,
	server_version INTEGER,
	sync_state VARCHAR(8) NOT NULL,
	source VARCHAR(20) NOT NULL,
	title VARCHAR(80) NOT NULL,
	tags TEXT NOT NULL,
	system_tags TEXT NOT NULL,
	extra TEXT NOT NULL,
	CONSTRAINT pk_notes PRIMARY KEY (number),
	CONSTRAINT fk_notes_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT ck_notes_sync_state CHECK (sync_state IN ('local', 'synced', 'pending', 'conflict')),
	CONSTRAINT ck_notes_local_version CHECK (local_version >= 1)
);

CREATE UNIQUE INDEX ix_notes_user_id_account_id ON notes (user_id, account, id);

CREATE INDEX ix_notes_user_id_account_modified_id ON notes (user_id, account, modified, id);

CREATE INDEX ix_notes_user_id_account_trash_modified_id ON notes (user_id, account, trash, modified, id);

CREATE INDEX ix_notes_user_id_account_trash_created_id ON notes (user_id, account, trash, created, id);

CREATE INDEX ix_notes_user_id_account_sync_state ON notes (user_id, account, sync_state);

CREATE TABLE note_texts (
	number INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	content TEXT NOT NULL,
	base TEXT,
	CONSTRAINT pk_note_texts PRIMARY KEY (number),
	CONSTRAINT fk_note_texts_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
);

CREATE TABLE note_tags (
	number INTEGER NOT NULL,
	tag TEXT NOT NULL,
	user_id CHAR(32) NOT NULL,
	CONSTRAINT pk_note_tags PRIMARY KEY (number, tag),
	CONSTRAINT fk_note_tags_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE INDEX ix_note_tags_user_id_tag_number ON note_tags (user_id, tag, number);

CREATE TABLE note_versions (
	user_id CHAR(32) NOT NULL,
	account VARCHAR(64) NOT NULL,
	note_id VARCHAR(256) NOT NULL,
	local_version INTEGER NOT NULL,
	server_version INTEGER,
	modified DOUBLE NOT NULL,
	created DOUBLE NOT NULL,
	trash BOOLEAN NOT NULL,
	source VARCHAR(20) NOT NULL,
	size INTEGER NOT NULL,
	gone_at DOUBLE,
	tags TEXT NOT NULL,
	system_tags TEXT NOT NULL,
	extra TEXT NOT NULL,
	content TEXT NOT NULL,
	CONSTRAINT pk_note_versions PRIMARY KEY (user_id, account, note_id, local_version),
	CONSTRAINT fk_note_versions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_note_versions_gone_at ON note_versions (gone_at);
