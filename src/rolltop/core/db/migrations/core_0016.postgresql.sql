-- Written by `make schema` from the revisions beside this file.
CREATE TABLE users (
	id UUID NOT NULL,
	email VARCHAR(254) COLLATE "C" NOT NULL,
	password_hash VARCHAR(255),
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	last_login_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_users PRIMARY KEY (id),
	CONSTRAINT uq_users_email UNIQUE (email)
);

CREATE TABLE access_tokens (
	id UUID NOT NULL,
	user_id UUID NOT NULL,
	name VARCHAR(200) NOT NULL,
	token_hash VARCHAR(64) COLLATE "C" NOT NULL,
	read_only BOOLEAN NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE,
	last_used_at TIMESTAMP WITH TIME ZONE,
	revoked_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_access_tokens PRIMARY KEY (id),
	CONSTRAINT fk_access_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT uq_access_tokens_token_hash UNIQUE (token_hash)
);

CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);

CREATE TABLE search_items (
	id BIGSERIAL NOT NULL,
	user_id UUID NOT NULL,
	kind VARCHAR(40) COLLATE "C" NOT NULL,
	ref VARCHAR(400) COLLATE "C" NOT NULL,
	CONSTRAINT pk_search_items PRIMARY KEY (id),
	CONSTRAINT fk_search_items_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX ix_search_items_user_id_kind_ref ON search_items (user_id, kind, ref);

CREATE TABLE search_filters (
	item_id BIGINT NOT NULL,
	name VARCHAR(40) COLLATE "C" NOT NULL,
	value VARCHAR COLLATE "C" NOT NULL,
	user_id UUID NOT NULL,
	CONSTRAINT pk_search_filters PRIMARY KEY (item_id, name, value),
	CONSTRAINT fk_search_filters_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_filters_user_id_name_value_item_id ON search_filters (user_id, name, value, item_id);

CREATE TABLE search_parts (
	id BIGSERIAL NOT NULL,
	user_id UUID NOT NULL,
	item_id BIGINT NOT NULL,
	kind VARCHAR(40) COLLATE "C" NOT NULL,
	part INTEGER NOT NULL,
	digest VARCHAR(32) COLLATE "C" NOT NULL,
	length INTEGER NOT NULL,
	embedding VARCHAR(100) COLLATE "C",
	CONSTRAINT pk_search_parts PRIMARY KEY (id),
	CONSTRAINT fk_search_parts_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_parts_item_id ON search_parts (item_id);

CREATE INDEX ix_search_parts_user_id_id_length ON search_parts (user_id, id, length);

CREATE INDEX ix_search_parts_embedding_id ON search_parts (embedding, id);

CREATE TABLE search_texts (
	id BIGINT NOT NULL,
	user_id UUID NOT NULL,
	text TEXT NOT NULL,
	words TSVECTOR NOT NULL,
	CONSTRAINT pk_search_texts PRIMARY KEY (id),
	CONSTRAINT fk_search_texts_id FOREIGN KEY(id) REFERENCES search_parts (id) ON DELETE CASCADE
);

CREATE TABLE search_vectors (
	id BIGSERIAL NOT NULL,
	part_id BIGINT NOT NULL,
	user_id UUID NOT NULL,
	embedding VARCHAR(100) COLLATE "C" NOT NULL,
	vector BYTEA NOT NULL,
	CONSTRAINT pk_search_vectors PRIMARY KEY (id),
	CONSTRAINT fk_search_vectors_part_id FOREIGN KEY(part_id) REFERENCES search_parts (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_vectors_part_id ON search_vectors (part_id);

CREATE INDEX ix_search_vectors_user_id_embedding_id ON search_vectors (user_id, embedding, id);

CREATE INDEX ix_search_texts_words ON search_texts USING gin (words);

CREATE TABLE search_wholes (
	id BIGSERIAL NOT NULL,
	user_id UUID NOT NULL,
	is_long BOOLEAN NOT NULL,
	words TSVECTOR NOT NULL,
	CONSTRAINT pk_search_wholes PRIMARY KEY (id),
	CONSTRAINT fk_search_wholes_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_wholes_user_id ON search_wholes (user_id) WHERE is_long;

CREATE TABLE search_whole_parts (
	whole_id BIGINT NOT NULL,
	part INTEGER NOT NULL,
	user_id UUID NOT NULL,
	words TSVECTOR NOT NULL,
	CONSTRAINT pk_search_whole_parts PRIMARY KEY (whole_id, part),
	CONSTRAINT fk_search_whole_parts_whole_id FOREIGN KEY(whole_id) REFERENCES search_wholes (id) ON DELETE CASCADE
);

CREATE INDEX ix_search_wholes_words ON search_wholes USING gin (words) WITH (fastupdate = off);

CREATE INDEX ix_search_whole_parts_words ON search_whole_parts USING gin (words) WITH (fastupdate = off);

ALTER INDEX ix_search_texts_words SET (fastupdate = off);

CREATE TABLE journal (
	user_id UUID NOT NULL,
	sequence BIGINT NOT NULL,
	operation UUID NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	actor_id UUID NOT NULL,
	client VARCHAR(200) NOT NULL,
	project VARCHAR(100) NOT NULL,
	tool VARCHAR(100) NOT NULL,
	kind VARCHAR(16) COLLATE "C" NOT NULL,
	ref VARCHAR(400) COLLATE "C" NOT NULL,
	version_before INTEGER,
	version_after INTEGER,
	changes TEXT NOT NULL,
	CONSTRAINT pk_journal PRIMARY KEY (user_id, sequence),
	CONSTRAINT fk_journal_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_journal_user_id_operation ON journal (user_id, operation);

CREATE INDEX ix_journal_user_id_kind_ref_sequence ON journal (user_id, kind, ref, sequence);

CREATE TABLE journal_contents (
	user_id UUID NOT NULL,
	sha256 VARCHAR(64) COLLATE "C" NOT NULL,
	used_at TIMESTAMP WITH TIME ZONE NOT NULL,
	size INTEGER NOT NULL,
	data BYTEA NOT NULL,
	CONSTRAINT pk_journal_contents PRIMARY KEY (user_id, sha256),
	CONSTRAINT fk_journal_contents_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE journal_counters (
	user_id UUID NOT NULL,
	sequence BIGINT NOT NULL,
	texts_since TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_journal_counters PRIMARY KEY (user_id),
	CONSTRAINT fk_journal_counters_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE journal_undone (
	user_id UUID NOT NULL,
	operation UUID NOT NULL,
	undone_by UUID NOT NULL,
	CONSTRAINT pk_journal_undone PRIMARY KEY (user_id, operation, undone_by),
	CONSTRAINT fk_journal_undone_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

ALTER TABLE access_tokens ADD COLUMN project VARCHAR(100);

ALTER TABLE access_tokens ADD COLUMN workspace_ids TEXT;

ALTER TABLE users ADD COLUMN is_workspace BOOLEAN DEFAULT false NOT NULL;

CREATE TABLE workspace_members (
	workspace_id UUID NOT NULL,
	member_id UUID NOT NULL,
	role VARCHAR(10) NOT NULL,
	CONSTRAINT pk_workspace_members PRIMARY KEY (workspace_id, member_id),
	CONSTRAINT fk_workspace_members_workspace_id FOREIGN KEY(workspace_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_workspace_members_member_id FOREIGN KEY(member_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_workspace_members_member_id ON workspace_members (member_id);

CREATE TABLE identities (
	issuer VARCHAR(500) COLLATE "C" NOT NULL,
	subject VARCHAR(200) COLLATE "C" NOT NULL,
	user_id UUID NOT NULL,
	CONSTRAINT pk_identities PRIMARY KEY (issuer, subject),
	CONSTRAINT fk_identities_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_identities_user_id ON identities (user_id);

CREATE TABLE page_sessions (
	secret_hash VARCHAR(64) COLLATE "C" NOT NULL,
	user_id UUID NOT NULL,
	token_id UUID,
	is_link BOOLEAN NOT NULL,
	expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_page_sessions PRIMARY KEY (secret_hash),
	CONSTRAINT fk_page_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE,
	CONSTRAINT fk_page_sessions_token_id FOREIGN KEY(token_id) REFERENCES access_tokens (id) ON DELETE CASCADE
);

CREATE INDEX ix_page_sessions_user_id ON page_sessions (user_id);

CREATE INDEX ix_page_sessions_token_id ON page_sessions (token_id);

CREATE TABLE idempotency_keys (
	user_id UUID NOT NULL,
	tool VARCHAR(100) NOT NULL,
	key VARCHAR(64) COLLATE "C" NOT NULL,
	arguments VARCHAR(64) COLLATE "C" NOT NULL,
	used_at TIMESTAMP WITH TIME ZONE NOT NULL,
	answer BYTEA NOT NULL,
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, tool, key),
	CONSTRAINT fk_idempotency_keys_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_idempotency_keys_used_at ON idempotency_keys (used_at);

CREATE TABLE audit_events (
	number BIGSERIAL NOT NULL,
	at TIMESTAMP WITH TIME ZONE NOT NULL,
	actor VARCHAR(300) NOT NULL,
	action VARCHAR(40) NOT NULL,
	subject VARCHAR(1000) NOT NULL,
	CONSTRAINT pk_audit_events PRIMARY KEY (number)
);

CREATE INDEX ix_audit_events_at ON audit_events (at);

CREATE TABLE job_leases (
	user_id UUID NOT NULL,
	name VARCHAR COLLATE "C" NOT NULL,
	fence BIGINT NOT NULL,
	holder VARCHAR COLLATE "C" NOT NULL,
	expires_at DOUBLE PRECISION NOT NULL,
	CONSTRAINT pk_job_leases PRIMARY KEY (user_id, name)
);

CREATE UNLOGGED TABLE journal_pending (
	number BIGSERIAL PRIMARY KEY,
	xid BIGINT NOT NULL,
	table_name TEXT NOT NULL,
	before TEXT,
	after TEXT
);

CREATE INDEX ix_journal_pending_xid ON journal_pending (xid);

CREATE FUNCTION journal_rows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO journal_pending (xid, table_name, before, after) VALUES (
		pg_current_xact_id()::text::bigint,
		TG_TABLE_NAME,
		CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD)::text END,
		CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW)::text END
	);
	RETURN NULL;
END
$$;

CREATE TABLE words_of_search_texts (id BIGINT NOT NULL, user_id UUID NOT NULL, words TSVECTOR NOT NULL);

ALTER TABLE search_texts INHERIT words_of_search_texts;

CREATE POLICY words ON words_of_search_texts FOR SELECT USING (true);

ALTER TABLE words_of_search_texts ENABLE ROW LEVEL SECURITY;

ALTER TABLE words_of_search_texts FORCE ROW LEVEL SECURITY;

CREATE TABLE words_of_search_wholes (id BIGINT NOT NULL, user_id UUID NOT NULL, is_long BOOLEAN NOT NULL, words TSVECTOR NOT NULL);

ALTER TABLE search_wholes INHERIT words_of_search_wholes;

CREATE POLICY words ON words_of_search_wholes FOR SELECT USING (true);

ALTER TABLE words_of_search_wholes ENABLE ROW LEVEL SECURITY;

ALTER TABLE words_of_search_wholes FORCE ROW LEVEL SECURITY;

CREATE TABLE words_of_search_whole_parts (whole_id BIGINT NOT NULL, part INTEGER NOT NULL, user_id UUID NOT NULL, words TSVECTOR NOT NULL);

ALTER TABLE search_whole_parts INHERIT words_of_search_whole_parts;

CREATE POLICY words ON words_of_search_whole_parts FOR SELECT USING (true);

ALTER TABLE words_of_search_whole_parts ENABLE ROW LEVEL SECURITY;

ALTER TABLE words_of_search_whole_parts FORCE ROW LEVEL SECURITY;
