-- Written by `make schema` from the revisions beside this file.
CREATE TABLE reader_outlines (
	content VARCHAR(64) COLLATE "C" NOT NULL,
	size INTEGER NOT NULL,
	outline TEXT NOT NULL,
	kept_at TIMESTAMP WITH TIME ZONE NOT NULL,
	CONSTRAINT pk_reader_outlines PRIMARY KEY (content)
);

CREATE INDEX ix_reader_outlines_kept_at ON reader_outlines (kept_at);
