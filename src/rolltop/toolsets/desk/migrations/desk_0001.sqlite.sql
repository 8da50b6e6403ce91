-- Written by `make schema` from the revisions beside this file.
CREATE TABLE desk_links (
	user_id CHAR(32) NOT NULL,
	id CHAR(32) NOT NULL,
	relation VARCHAR(16) NOT NULL,
	source TEXT NOT NULL,
	source_key VARCHAR(64) NOT NULL,
	target TEXT NOT NULL,
	target_key VARCHAR(64) NOT NULL,
	created_at VARCHAR(27) NOT NULL,
	CONSTRAINT pk_desk_links PRIMARY KEY (user_id, id),
	CONSTRAINT fk_desk_links_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);

CREATE INDEX ix_desk_links_user_id_source_key ON desk_links (user_id, source_key);

CREATE INDEX ix_desk_links_user_id_target_key ON desk_links (user_id, target_key);
