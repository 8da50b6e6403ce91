-- Written by `make schema` from the revisions beside this file.
CREATE TABLE note_accounts (
	user_id UUID NOT NULL,
	account VARCHAR(64) COLLATE "C" NOT NULL,
	is_active BOOLEAN NOT NULL,
	username VARCHAR(320) COLLATE "C",
	cursor VARCHAR COLLATE "C",
	status VARCHAR(20) COLLATE "C" NOT NULL,
	error_count INTEGER NOT NULL,
	last_sync_at DOUBLE PRECISION,
	sync_duration_ms DOUBLE PRECISION,
	state TEXT NOT NULL,
	CONSTRAINT pk_note_accounts PRIMARY KEY (user_id, account),
	CONSTRAINT fk_note_accounts_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE notes (
	number BIGINT NOT NULL,
	user_id UUID NOT NULL,
	account VARCHAR(64) COLLATE "C" NOT NULL,
	id VARCHAR(256) COLLATE "C" NOT NULL,
	trash BOOLEAN NOT NULL,
	modified DOUBLE PRECISION NOT NULL,
	created DOUBLE PRECISION NOT NULL,
	local_version INTEGER NOT NULL,
	server_version INTEGER,
	sync_state VARCHAR(8) COLLATE "C" NOT NULL,
	source VARCHAR(20) COLLATE "C" NOT NULL,
	title VARCHAR(80) COLLATE "C" NOT NULL,
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
	number BIGINT NOT NULL,
	user_id UUID NOT NULL,
	content TEXT NOT NULL,
	base TEXT,
	CONSTRAINT pk_note_texts PRIMARY KEY (number),
	CONSTRAINT fk_note_texts_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
);

CREATE TABLE note_tags (
	number BIGINT NOT NULL,
	tag VARCHAR COLLATE "C" NOT NULL,
	user_id UUID NOT NULL,
	CONSTRAINT pk_note_tags PRIMARY KEY (number, tag),
	CONSTRAINT fk_note_tags_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
);

CREATE INDEX ix_note_tags_user_id_tag_number ON note_tags (user_id, tag, number);

CREATE TABLE note_versions (
	user_id UUID NOT NULL,
	account VARCHAR(64) COLLATE "C" NOT NULL,
	note_id VARCHAR(256) COLLATE "C" NOT NULL,
	local_version INTEGER NOT NULL,
	server_version INTEGER,
	modified DOUBLE PRECISION NOT NULL,
	created DOUBLE PRECISION NOT NULL,
	trash BOOLEAN NOT NULL,
	source VARCHAR(20) COLLATE "C" NOT NULL,
	size INTEGER NOT NULL,
	gone_at DOUBLE PRECISION,
	tags TEXT NOT NULL,
	system_tags TEXT NOT NULL,
	extra TEXT NOT NULL,
	content TEXT NOT NULL,
	CONSTRAINT pk_note_versions PRIMARY KEY (user_id, account, note_id, local_version),
	CONSTRAINT fk_note_versions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_note_versions_gone_at ON note_versions (gone_at);

CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON notes FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE OR REPLACE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON note_texts FOR EACH ROW EXECUTE FUNCTION journal_rows();
