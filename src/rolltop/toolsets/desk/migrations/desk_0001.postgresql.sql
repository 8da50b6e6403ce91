-- Written by `make schema` from the revisions beside this file.
CREATE TABLE desk_links (
	user_id UUID NOT NULL,
	id UUID NOT NULL,
	relation VARCHAR(16) COLLATE "C" NOT NULL,
	source TEXT NOT NULL,
	source_key VARCHAR(64) COLLATE "C" NOT NULL,
	target TEXT NOT NULL,
	target_key VARCHAR(64) COLLATE "C" NOT NULL,
	created_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_desk_links PRIMARY KEY (user_id, id),
	CONSTRAINT fk_desk_links_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_desk_links_user_id_source_key ON desk_links (user_id, source_key);

CREATE INDEX ix_desk_links_user_id_target_key ON desk_links (user_id, target_key);

CREATE TRIGGER journal_rows AFTER INSERT OR UPDATE OR DELETE ON desk_links FOR EACH ROW EXECUTE FUNCTION journal_rows();
