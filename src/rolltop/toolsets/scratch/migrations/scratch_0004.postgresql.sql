-- Written by `make schema` from the revisions beside this file.
CREATE TABLE scratch_namespaces (
	user_id UUID NOT NULL,
	namespace VARCHAR(200) COLLATE "C" NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_scratch_namespaces PRIMARY KEY (user_id, namespace),
	CONSTRAINT fk_scratch_namespaces_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE TABLE scratch_pads (
	user_id UUID NOT NULL,
	scratch_id UUID NOT NULL,
	namespace VARCHAR(200) COLLATE "C" NOT NULL,
	tags TEXT NOT NULL,
	metadata TEXT NOT NULL,
	title_key VARCHAR(200) COLLATE "C" NOT NULL,
	cell_count INTEGER NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
	version INTEGER NOT NULL,
	deleted_at TIMESTAMP WITH TIME ZONE,
	CONSTRAINT pk_scratch_pads PRIMARY KEY (user_id, scratch_id),
	CONSTRAINT fk_scratch_pads_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_scratch_pads_user_id_updated_at_scratch_id ON scratch_pads (user_id, updated_at, scratch_id);

CREATE INDEX ix_scratch_pads_user_id_created_at_scratch_id ON scratch_pads (user_id, created_at, scratch_id);

CREATE INDEX ix_scratch_pads_user_id_title_key_scratch_id ON scratch_pads (user_id, title_key, scratch_id);

CREATE INDEX ix_scratch_pads_user_id_namespace_updated_at_scratch_id ON scratch_pads (user_id, namespace, updated_at, scratch_id);

CREATE INDEX ix_scratch_pads_deleted_at ON scratch_pads (deleted_at);

CREATE TABLE scratch_cells (
	user_id UUID NOT NULL,
	cell_id UUID NOT NULL,
	scratch_id UUID NOT NULL,
	position INTEGER NOT NULL,
	language VARCHAR(8) COLLATE "C" NOT NULL,
	validate BOOLEAN NOT NULL,
	json_schema TEXT,
	metadata TEXT,
	tags TEXT NOT NULL,
	version INTEGER NOT NULL,
	sha256 VARCHAR(64) COLLATE "C" NOT NULL,
	bytes INTEGER NOT NULL,
	characters INTEGER NOT NULL,
	lines INTEGER NOT NULL,
	tokens INTEGER NOT NULL,
	first_line VARCHAR(80) COLLATE "C" NOT NULL,
	finding TEXT,
	CONSTRAINT pk_scratch_cells PRIMARY KEY (user_id, cell_id),
	CONSTRAINT fk_scratch_cells_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);

CREATE INDEX ix_scratch_cells_user_id_scratch_id_position ON scratch_cells (user_id, scratch_id, position);

CREATE TABLE scratch_contents (
	user_id UUID NOT NULL,
	cell_id UUID NOT NULL,
	content TEXT NOT NULL,
	CONSTRAINT pk_scratch_contents PRIMARY KEY (user_id, cell_id),
	CONSTRAINT fk_scratch_contents_user_id_cell_id FOREIGN KEY(user_id, cell_id) REFERENCES scratch_cells (user_id, cell_id) ON DELETE CASCADE
);

CREATE TABLE scratch_pad_tags (
	user_id UUID NOT NULL,
	scratch_id UUID NOT NULL,
	tag VARCHAR(200) COLLATE "C" NOT NULL,
	CONSTRAINT pk_scratch_pad_tags PRIMARY KEY (user_id, scratch_id, tag),
	CONSTRAINT fk_scratch_pad_tags_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);

CREATE TABLE scratch_cell_tags (
	user_id UUID NOT NULL,
	cell_id UUID NOT NULL,
	tag VARCHAR(200) COLLATE "C" NOT NULL,
	scratch_id UUID NOT NULL,
	CONSTRAINT pk_scratch_cell_tags PRIMARY KEY (user_id, cell_id, tag),
	CONSTRAINT fk_scratch_cell_tags_user_id_cell_id FOREIGN KEY(user_id, cell_id) REFERENCES scratch_cells (user_id, cell_id) ON DELETE CASCADE
);

CREATE INDEX ix_scratch_pad_tags_user_id_tag ON scratch_pad_tags (user_id, tag);

CREATE INDEX ix_scratch_cell_tags_user_id_tag ON scratch_cell_tags (user_id, tag);

CREATE INDEX ix_scratch_cell_tags_user_id_scratch_id ON scratch_cell_tags (user_id, scratch_id);

CREATE TABLE scratch_schemas (
	user_id UUID NOT NULL,
	scratch_id UUID NOT NULL,
	id UUID NOT NULL,
	name VARCHAR(200) COLLATE "C" NOT NULL,
	description TEXT NOT NULL,
	schema TEXT NOT NULL,
	CONSTRAINT pk_scratch_schemas PRIMARY KEY (user_id, scratch_id, id),
	CONSTRAINT uq_scratch_schemas_user_id_scratch_id_name UNIQUE (user_id, scratch_id, name),
	CONSTRAINT fk_scratch_schemas_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);

CREATE TABLE scratch_accesses (
	user_id UUID NOT NULL,
	scratch_id UUID NOT NULL,
	accessed_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_scratch_accesses PRIMARY KEY (user_id, scratch_id),
	CONSTRAINT fk_scratch_accesses_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);

ALTER TABLE scratch_namespaces ADD COLUMN is_project BOOLEAN DEFAULT false NOT NULL;

ALTER TABLE scratch_cells ALTER COLUMN language TYPE VARCHAR(64) COLLATE "C";

CREATE INDEX ix_scratch_cells_failed ON scratch_cells (user_id, cell_id) WHERE substr(finding, 10, 5) = 'false';

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_namespaces FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_pads FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_cells FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_contents FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_pad_tags FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_cell_tags FOR EACH ROW EXECUTE FUNCTION journal_rows();

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON scratch_schemas FOR EACH ROW EXECUTE FUNCTION journal_rows();
