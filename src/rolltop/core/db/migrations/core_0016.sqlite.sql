-- Written by `make schema` from the revisions beside this file.
CREATE TABLE users (
	id CHAR(32) NOT NULL,
	email VARCHAR(254) NOT NULL,
	password_hash VARCHAR(255),
	created_at VARCHAR(27) NOT NULL,
	last_login_at VARCHAR(27),
	CONSTRAINT pk_users PRIMARY KEY (id),
	CONSTRAINT uq_users_email UNIQUE (email)
);

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

CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);

CREATE TABLE search_items (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id CHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	ref VARCHAR(400) NOT NULL,
	CONSTRAINT fk_search_items_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_search_items_user_id_kind_ref ON search_items (user_id, kind, ref);

CREATE TABLE search_filters (
	item_id INTEGER NOT NULL,
	name VARCHAR(40) NOT NULL,
	value TEXT NOT NULL,
	user_id CHAR(32) NOT NULL,
	CONSTRAINT pk_search_filters PRIMARY KEY (item_id, name, value),
	CONSTRAINT fk_search_filters_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE INDEX ix_search_filters_user_id_name_value_item_id ON search_filters (user_id, name, value, item_id);

CREATE TABLE search_parts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id CHAR(32) NOT NULL,
	item_id INTEGER NOT NULL,
	kind VARCHAR(40) NOT NULL,
	part INTEGER NOT NULL,
	digest VARCHAR(32) NOT NULL,
	length INTEGER NOT NULL,
	embedding VARCHAR(100),
	CONSTRAINT fk_search_parts_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_parts_item_id ON search_parts (item_id);

CREATE INDEX ix_search_parts_user_id_id_length ON search_parts (user_id, id, length);

CREATE INDEX ix_search_parts_embedding_id ON search_parts (embedding, id);

CREATE TABLE search_texts (
	id INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	text TEXT NOT NULL,
	words TEXT NOT NULL,
	CONSTRAINT pk_search_texts PRIMARY KEY (id),
	CONSTRAINT fk_search_texts_id FOREIGN KEY(id) REFERENCES search_parts (id) ON DELETE CASCADE
);

CREATE TABLE search_vectors (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	part_id INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	embedding VARCHAR(100) NOT NULL,
	vector BLOB NOT NULL,
	CONSTRAINT fk_search_vectors_part_id FOREIGN KEY(part_id) REFERENCES search_parts (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_vectors_part_id ON search_vectors (part_id);

CREATE INDEX ix_search_vectors_user_id_embedding_id ON search_vectors (user_id, embedding, id);

CREATE VIRTUAL TABLE search_words USING fts5(words, content='search_texts', content_rowid='id', tokenize='ascii');

CREATE VIRTUAL TABLE search_terms USING fts5vocab('search_words', 'row');

CREATE TABLE search_wholes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id CHAR(32) NOT NULL,
	is_long BOOLEAN NOT NULL,
	words TEXT NOT NULL,
	CONSTRAINT fk_search_wholes_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_wholes_user_id ON search_wholes (user_id) WHERE is_long;

CREATE TABLE search_whole_parts (
	whole_id INTEGER NOT NULL,
	part INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	words TEXT NOT NULL,
	CONSTRAINT pk_search_whole_parts PRIMARY KEY (whole_id, part),
	CONSTRAINT fk_search_whole_parts_whole_id FOREIGN KEY(whole_id) REFERENCES search_wholes (id) ON DELETE CASCADE
);

CREATE VIRTUAL TABLE search_whole_words USING fts5(words, content='search_wholes', content_rowid='id', tokenize='ascii');

CREATE TABLE journal (
	user_id CHAR(32) NOT NULL,
	sequence BIGINT NOT NULL,
	operation CHAR(32) NOT NULL,
	at VARCHAR(27) NOT NULL,
	actor_id CHAR(32) NOT NULL,
	client VARCHAR(200) NOT NULL,
	project VARCHAR(100) NOT NULL,
	tool VARCHAR(100) NOT NULL,
	kind VARCHAR(16) NOT NULL,
	ref VARCHAR(400) NOT NULL,
	version_before INTEGER,
	version_after INTEGER,
	changes TEXT NOT NULL,
	CONSTRAINT pk_journal PRIMARY KEY (user_id, sequence),
	CONSTRAINT fk_journal_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
)
 WITHOUT ROWID;

CREATE INDEX ix_journal_user_id_operation ON journal (user_id, operation);

CREATE INDEX ix_journal_user_id_kind_ref_sequence ON journal (user_id, kind, ref, sequence);

CREATE TABLE journal_contents (
	user_id CHAR(32) NOT NULL,
	sha256 VARCHAR(64) NOT NULL,
	used_at VARCHAR(27) NOT NULL,
	size INTEGER NOT NULL,
	data BLOB NOT NULL,
	CONSTRAINT pk_journal_contents PRIMARY KEY (user_id, sha256),
	CONSTRAINT fk_journal_contents_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE journal_counters (
	user_id CHAR(32) NOT NULL,
	sequence BIGINT NOT NULL,
	texts_since VARCHAR(27),
	CONSTRAINT pk_journal_counters PRIMARY KEY (user_id),
	CONSTRAINT fk_journal_counters_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE journal_undone (
	user_id CHAR(32) NOT NULL,
	operation CHAR(32) NOT NULL,
	undone_by CHAR(32) NOT NULL,
	CONSTRAINT pk_journal_undone PRIMARY KEY (user_id, operation, undone_by),
	CONSTRAINT fk_journal_undone_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

ALTER TABLE access_tokens ADD COLUMN project VARCHAR(100);

ALTER TABLE access_tokens ADD COLUMN workspace_ids TEXT;

ALTER TABLE users ADD COLUMN is_workspace BOOLEAN DEFAULT 0 NOT NULL;

CREATE TABLE workspace_members (
	workspace_id CHAR(32) NOT NULL,
	member_id CHAR(32) NOT NULL,
	role VARCHAR(10) NOT NULL,
	CONSTRAINT pk_workspace_members PRIMARY KEY (workspace_id, member_id),
	CONSTRAINT fk_workspace_members_workspace_id FOREIGN KEY(workspace_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_workspace_members_member_id FOREIGN KEY(member_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_workspace_members_member_id ON workspace_members (member_id);

CREATE TABLE identities (
	issuer VARCHAR(500) NOT NULL,
	subject VARCHAR(200) NOT NULL,
	user_id CHAR(32) NOT NULL,
	CONSTRAINT pk_identities PRIMARY KEY (issuer, subject),
	CONSTRAINT fk_identities_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_identities_user_id ON identities (user_id);

CREATE TABLE page_sessions (
	secret_hash VARCHAR(64) NOT NULL,
	user_id CHAR(32) NOT NULL,
	token_id CHAR(32),
	is_link BOOLEAN NOT NULL,
	expires_at VARCHAR(27) NOT NULL,
	CONSTRAINT pk_page_sessions PRIMARY KEY (secret_hash),
	CONSTRAINT fk_page_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_page_sessions_token_id FOREIGN KEY(token_id) REFERENCES access_tokens (id) ON DELETE CASCADE
);

CREATE INDEX ix_page_sessions_user_id ON page_sessions (user_id);

CREATE INDEX ix_page_sessions_token_id ON page_sessions (token_id);

CREATE TABLE idempotency_keys (
	user_id CHAR(32) NOT NULL,
	tool VARCHAR(100) NOT NULL,
	"key" VARCHAR(64) NOT NULL,
	arguments VARCHAR(64) NOT NULL,
	used_at VARCHAR(27) NOT NULL,
	answer BLOB NOT NULL,
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, tool, "key"),
	CONSTRAINT fk_idempotency_keys_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_idempotency_keys_used_at ON idempotency_keys (used_at);

CREATE TABLE audit_events (
	number INTEGER NOT NULL,
	at VARCHAR(27) NOT NULL,
	actor VARCHAR(300) NOT NULL,
	action VARCHAR(40) NOT NULL,
	subject VARCHAR(1000) NOT NULL,
	CONSTRAINT pk_audit_events PRIMARY KEY (number)
);

CREATE INDEX ix_audit_events_at ON audit_events (at);

CREATE TABLE job_leases (
	user_id CHAR(32) NOT NULL,
	name TEXT NOT NULL,
	fence BIGINT NOT NULL,
	holder TEXT NOT NULL,
	expires_at DOUBLE NOT NULL,
	CONSTRAINT pk_job_leases PRIMARY KEY (user_id, name)
);
