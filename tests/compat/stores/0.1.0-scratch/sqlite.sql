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
INSERT INTO "access_tokens" VALUES('bd0778352a5c455f923d1379a298352f','17d9227ff58c469fb7807a33ce6bd8a2','laptop','8f19ac7e830c2592ae8e59067dca64257c1e0d153e037d7e5f3549ff3d089ea5',1,'2026-11-22T02:38:17.731697Z',NULL,NULL,NULL);
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
INSERT INTO "rolltop_versions" VALUES('core_0002');
INSERT INTO "rolltop_versions" VALUES('reader_0001');
INSERT INTO "rolltop_versions" VALUES('scratch_0001');
INSERT INTO "rolltop_versions" VALUES('tasks_0001');
CREATE TABLE scratch_accesses (
	user_id CHAR(32) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	accessed_at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_scratch_accesses PRIMARY KEY (user_id, scratch_id), 
	CONSTRAINT fk_scratch_accesses_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);
CREATE TABLE scratch_cell_tags (
	user_id CHAR(32) NOT NULL, 
	cell_id CHAR(32) NOT NULL, 
	tag VARCHAR(200) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	CONSTRAINT pk_scratch_cell_tags PRIMARY KEY (user_id, cell_id, tag), 
	CONSTRAINT fk_scratch_cell_tags_user_id_cell_id FOREIGN KEY(user_id, cell_id) REFERENCES scratch_cells (user_id, cell_id) ON DELETE CASCADE
);
INSERT INTO "scratch_cell_tags" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e03','pairs','0b5f3a526c1e4c5a9a521f6a3b0d7e01');
CREATE TABLE scratch_cells (
	user_id CHAR(32) NOT NULL, 
	cell_id CHAR(32) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	position INTEGER NOT NULL, 
	language VARCHAR(8) NOT NULL, 
	validate BOOLEAN NOT NULL, 
	json_schema TEXT, 
	metadata TEXT, 
	tags TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	bytes INTEGER NOT NULL, 
	characters INTEGER NOT NULL, 
	lines INTEGER NOT NULL, 
	tokens INTEGER NOT NULL, 
	first_line VARCHAR(80) NOT NULL, 
	finding TEXT, 
	CONSTRAINT pk_scratch_cells PRIMARY KEY (user_id, cell_id), 
	CONSTRAINT fk_scratch_cells_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);
INSERT INTO "scratch_cells" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e03','0b5f3a526c1e4c5a9a521f6a3b0d7e01',0,'json',1,'"scratchpad://schemas/pair"','{"from":"nowhere"}','["pairs"]',1,'acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349',4,4,1,3,'[1]','{"valid":false,"errors":1,"warnings":0,"validator":"1-53916ba2","sha256":"acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349"}');
INSERT INTO "scratch_cells" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','2e1e8cb5830c4b6e82957ae2b768c59b','0b5f3a526c1e4c5a9a521f6a3b0d7e01',1,'md',0,NULL,NULL,'[]',1,'ef7deb4c325bd0655d52f0457a94131825c17b11bc294315d3f9defe85b435bf',32,31,3,10,'# Walrus',NULL);
INSERT INTO "scratch_cells" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','c8208310fba04d1dac40fbed683f96f6','0b5f3a526c1e4c5a9a521f6a3b0d7e01',2,'txt',0,NULL,NULL,'[]',1,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0,0,0,0,'',NULL);
INSERT INTO "scratch_cells" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','850a8c6874264197adbc396c586fbb03','0b5f3a526c1e4c5a9a521f6a3b0d7e02',0,'txt',0,NULL,NULL,'[]',1,'283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247',4,4,1,1,'gone',NULL);
CREATE TABLE scratch_contents (
	user_id CHAR(32) NOT NULL, 
	cell_id CHAR(32) NOT NULL, 
	content TEXT NOT NULL, 
	CONSTRAINT pk_scratch_contents PRIMARY KEY (user_id, cell_id), 
	CONSTRAINT fk_scratch_contents_user_id_cell_id FOREIGN KEY(user_id, cell_id) REFERENCES scratch_cells (user_id, cell_id) ON DELETE CASCADE
);
INSERT INTO "scratch_contents" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e03','[1]
');
INSERT INTO "scratch_contents" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','2e1e8cb5830c4b6e82957ae2b768c59b','# Walrus

camelCase und Straße
');
INSERT INTO "scratch_contents" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','c8208310fba04d1dac40fbed683f96f6','');
INSERT INTO "scratch_contents" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','850a8c6874264197adbc396c586fbb03','gone');
CREATE TABLE scratch_namespaces (
	user_id CHAR(32) NOT NULL, 
	namespace VARCHAR(200) NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	CONSTRAINT pk_scratch_namespaces PRIMARY KEY (user_id, namespace), 
	CONSTRAINT fk_scratch_namespaces_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "scratch_namespaces" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','größe','2026-11-22T02:38:17.402718Z');
INSERT INTO "scratch_namespaces" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','default','2026-11-22T02:38:17.572274Z');
INSERT INTO "scratch_namespaces" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','empty','2026-11-22T02:38:17.672224Z');
CREATE TABLE scratch_pad_tags (
	user_id CHAR(32) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	tag VARCHAR(200) NOT NULL, 
	CONSTRAINT pk_scratch_pad_tags PRIMARY KEY (user_id, scratch_id, tag), 
	CONSTRAINT fk_scratch_pad_tags_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);
INSERT INTO "scratch_pad_tags" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e01','home');
INSERT INTO "scratch_pad_tags" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e01','日本');
CREATE TABLE scratch_pads (
	user_id CHAR(32) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	namespace VARCHAR(200) NOT NULL, 
	tags TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	title_key VARCHAR(200) NOT NULL, 
	cell_count INTEGER NOT NULL, 
	created_at VARCHAR(27) NOT NULL, 
	updated_at VARCHAR(27) NOT NULL, 
	version INTEGER NOT NULL, 
	deleted_at VARCHAR(27), 
	CONSTRAINT pk_scratch_pads PRIMARY KEY (user_id, scratch_id), 
	CONSTRAINT fk_scratch_pads_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "scratch_pads" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e01','größe','["home","日本"]','{"title":"Żółć 😀","kept":[1,null,{"deep":true}]}','żółć 😀',3,'2026-11-22T02:38:17.402718Z','2026-11-22T02:38:17.402718Z',1,NULL);
INSERT INTO "scratch_pads" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e02','default','[]','{}','',1,'2026-11-22T02:38:17.572274Z','2026-11-22T02:38:17.629994Z',2,'2026-11-22T02:38:17.629994Z');
CREATE TABLE scratch_schemas (
	user_id CHAR(32) NOT NULL, 
	scratch_id CHAR(32) NOT NULL, 
	id CHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	description TEXT NOT NULL, 
	schema TEXT NOT NULL, 
	CONSTRAINT pk_scratch_schemas PRIMARY KEY (user_id, scratch_id, id), 
	CONSTRAINT uq_scratch_schemas_user_id_scratch_id_name UNIQUE (user_id, scratch_id, name), 
	CONSTRAINT fk_scratch_schemas_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);
INSERT INTO "scratch_schemas" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','0b5f3a526c1e4c5a9a521f6a3b0d7e01','fe728f1b39cc4b31b62671f712d5b549','pair','','{"type":"array","minItems":2}');
CREATE TABLE search_filters (
	item_id INTEGER NOT NULL, 
	name VARCHAR(40) NOT NULL, 
	value TEXT NOT NULL, 
	user_id CHAR(32) NOT NULL, 
	CONSTRAINT pk_search_filters PRIMARY KEY (item_id, name, value), 
	CONSTRAINT fk_search_filters_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
)
 WITHOUT ROWID

;
INSERT INTO "search_filters" VALUES(1,'namespace','größe','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(2,'namespace','größe','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(3,'namespace','größe','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(4,'namespace','größe','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(1,'tags','home','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(2,'tags','home','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(3,'tags','home','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(4,'tags','home','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(2,'tags','pairs','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(1,'tags','日本','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(2,'tags','日本','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(3,'tags','日本','17d9227ff58c469fb7807a33ce6bd8a2');
INSERT INTO "search_filters" VALUES(4,'tags','日本','17d9227ff58c469fb7807a33ce6bd8a2');
CREATE TABLE search_items (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_id CHAR(32) NOT NULL, 
	kind VARCHAR(40) NOT NULL, 
	ref VARCHAR(400) NOT NULL, 
	CONSTRAINT fk_search_items_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "search_items" VALUES(1,'17d9227ff58c469fb7807a33ce6bd8a2','scratch_pad','0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');
INSERT INTO "search_items" VALUES(2,'17d9227ff58c469fb7807a33ce6bd8a2','scratch_cell','0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03');
INSERT INTO "search_items" VALUES(3,'17d9227ff58c469fb7807a33ce6bd8a2','scratch_cell','2e1e8cb5-830c-4b6e-8295-7ae2b768c59b');
INSERT INTO "search_items" VALUES(4,'17d9227ff58c469fb7807a33ce6bd8a2','scratch_cell','c8208310-fba0-4d1d-ac40-fbed683f96f6');
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
INSERT INTO "search_parts" VALUES(1,'17d9227ff58c469fb7807a33ce6bd8a2',1,'scratch_pad',0,'8413194ffa0d711c1132446f55558684',4,NULL);
INSERT INTO "search_parts" VALUES(2,'17d9227ff58c469fb7807a33ce6bd8a2',2,'scratch_cell',0,'acc07b62f23f458923737c4cd4a66bd0',1,NULL);
INSERT INTO "search_parts" VALUES(3,'17d9227ff58c469fb7807a33ce6bd8a2',3,'scratch_cell',0,'ef7deb4c325bd0655d52f0457a941318',6,NULL);
INSERT INTO "search_parts" VALUES(4,'17d9227ff58c469fb7807a33ce6bd8a2',4,'scratch_cell',0,'e3b0c44298fc1c149afbf4c8996fb924',0,NULL);
PRAGMA writable_schema=ON;
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','search_terms','search_terms',0,'CREATE VIRTUAL TABLE search_terms USING fts5vocab(''search_words'', ''row'')');
CREATE TABLE search_texts (
	id INTEGER NOT NULL, 
	user_id CHAR(32) NOT NULL, 
	text TEXT NOT NULL, 
	words TEXT NOT NULL, 
	CONSTRAINT pk_search_texts PRIMARY KEY (id), 
	CONSTRAINT fk_search_texts_id FOREIGN KEY(id) REFERENCES search_parts (id) ON DELETE CASCADE
);
INSERT INTO "search_texts" VALUES(1,'17d9227ff58c469fb7807a33ce6bd8a2','Żółć 😀
home
日本','zolc home 日本 本');
INSERT INTO "search_texts" VALUES(2,'17d9227ff58c469fb7807a33ce6bd8a2','[1]
','1');
INSERT INTO "search_texts" VALUES(3,'17d9227ff58c469fb7807a33ce6bd8a2','# Walrus

camelCase und Straße
','walru camelcas camel case und strass');
INSERT INTO "search_texts" VALUES(4,'17d9227ff58c469fb7807a33ce6bd8a2','','');
CREATE TABLE search_vectors (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	part_id INTEGER NOT NULL, 
	user_id CHAR(32) NOT NULL, 
	embedding VARCHAR(100) NOT NULL, 
	vector BLOB NOT NULL, 
	CONSTRAINT fk_search_vectors_part_id FOREIGN KEY(part_id) REFERENCES search_parts (id) ON DELETE CASCADE
);
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','search_words','search_words',0,'CREATE VIRTUAL TABLE search_words USING fts5(words, content=''search_texts'', content_rowid=''id'', tokenize=''ascii'')');
CREATE TABLE 'search_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "search_words_config" VALUES('version',4);
CREATE TABLE 'search_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "search_words_data" VALUES(1,X'040B');
INSERT INTO "search_words_data" VALUES(10,X'000000000103030003010101020101030101');
INSERT INTO "search_words_data" VALUES(137438953473,X'00000064023031020202010563616D656C0302040603636173030203030273650302050104686F6D6501020301067374726173730302070103756E64030206010577616C727503020201047A6F6C630102020106E697A5E69CAC01020402029CAC01020504060A0807090B080A090B');
INSERT INTO "search_words_data" VALUES(274877906945,X'0000000D0530676F6E6506020204');
INSERT INTO "search_words_data" VALUES(412316860417,X'0000000C0530676F6E65060104');
CREATE TABLE 'search_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO "search_words_docsize" VALUES(1,X'04');
INSERT INTO "search_words_docsize" VALUES(2,X'01');
INSERT INTO "search_words_docsize" VALUES(3,X'06');
INSERT INTO "search_words_docsize" VALUES(4,X'00');
CREATE TABLE 'search_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "search_words_idx" VALUES(1,X'',2);
INSERT INTO "search_words_idx" VALUES(2,X'',2);
INSERT INTO "search_words_idx" VALUES(3,X'',2);
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
INSERT INTO "task_tags" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','6603389114fd42ddb4bf8f6c6e58ef2b','größe');
INSERT INTO "task_tags" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','6603389114fd42ddb4bf8f6c6e58ef2b','home');
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
INSERT INTO "tasks" VALUES('f23ab4adb8f84b359ff7b1903a886330','17d9227ff58c469fb7807a33ce6bd8a2','Water the plants',NULL,'pending','2026-11-22T02:38:16.584655Z','2026-11-22T02:38:16.584655Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('b57baffd67f14ae3af2c0b1c0e59ab89','17d9227ff58c469fb7807a33ce6bd8a2','Żółć 😀','Ein Satz.
Und noch einer.','pending','2026-11-22T02:38:16.620150Z','2026-11-22T02:38:16.620150Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('7cbbe677f45e4e48aa5f89a4851146cf','17d9227ff58c469fb7807a33ce6bd8a2','Pay the rent',NULL,'pending','2026-11-22T02:38:16.641330Z','2026-11-22T02:38:16.641330Z',1,0,'2026-02-01T08:00:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('6603389114fd42ddb4bf8f6c6e58ef2b','17d9227ff58c469fb7807a33ce6bd8a2','Pack',NULL,'completed','2026-11-22T02:38:16.665911Z','2026-11-22T02:38:17.716152Z',2,NULL,NULL,NULL,'["rolltop://note/1"]',NULL,NULL,NULL);
CREATE TABLE users (
	id CHAR(32) NOT NULL, 
	email VARCHAR(254) NOT NULL, 
	password_hash VARCHAR(255), 
	created_at VARCHAR(27) NOT NULL, 
	last_login_at VARCHAR(27), 
	CONSTRAINT pk_users PRIMARY KEY (id), 
	CONSTRAINT uq_users_email UNIQUE (email)
);
INSERT INTO "users" VALUES('17d9227ff58c469fb7807a33ce6bd8a2','default@localhost',NULL,'2026-11-22T02:38:16.494335Z',NULL);
CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);
CREATE UNIQUE INDEX ix_search_items_user_id_kind_ref ON search_items (user_id, kind, ref);
CREATE INDEX ix_search_filters_user_id_name_value_item_id ON search_filters (user_id, name, value, item_id);
CREATE INDEX ix_search_parts_item_id ON search_parts (item_id);
CREATE INDEX ix_search_parts_user_id_id_length ON search_parts (user_id, id, length);
CREATE INDEX ix_search_parts_embedding_id ON search_parts (embedding, id);
CREATE INDEX ix_search_vectors_part_id ON search_vectors (part_id);
CREATE INDEX ix_search_vectors_user_id_embedding_id ON search_vectors (user_id, embedding, id);
CREATE INDEX ix_reader_outlines_kept_at ON reader_outlines (kept_at);
CREATE INDEX ix_scratch_pads_user_id_updated_at_scratch_id ON scratch_pads (user_id, updated_at, scratch_id);
CREATE INDEX ix_scratch_pads_user_id_created_at_scratch_id ON scratch_pads (user_id, created_at, scratch_id);
CREATE INDEX ix_scratch_pads_user_id_title_key_scratch_id ON scratch_pads (user_id, title_key, scratch_id);
CREATE INDEX ix_scratch_pads_user_id_namespace_updated_at_scratch_id ON scratch_pads (user_id, namespace, updated_at, scratch_id);
CREATE INDEX ix_scratch_pads_deleted_at ON scratch_pads (deleted_at);
CREATE INDEX ix_scratch_cells_user_id_scratch_id_position ON scratch_cells (user_id, scratch_id, position);
CREATE INDEX ix_scratch_pad_tags_user_id_tag ON scratch_pad_tags (user_id, tag);
CREATE INDEX ix_scratch_cell_tags_user_id_tag ON scratch_cell_tags (user_id, tag);
CREATE INDEX ix_scratch_cell_tags_user_id_scratch_id ON scratch_cell_tags (user_id, scratch_id);
CREATE INDEX ix_tasks_user_id_created_at_id ON tasks (user_id, created_at, id);
CREATE INDEX ix_tasks_user_id_status_created_at_id ON tasks (user_id, status, created_at, id);
CREATE INDEX ix_tasks_parent_id_user_id_created_at_id ON tasks (parent_id, user_id, created_at, id);
CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at);
CREATE INDEX ix_task_tags_user_id_tag_task_id ON task_tags (user_id, tag, task_id);
CREATE INDEX ix_task_blockers_user_id_blocker_id ON task_blockers (user_id, blocker_id);
PRAGMA writable_schema=OFF;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('search_items',6);
INSERT INTO "sqlite_sequence" VALUES('search_parts',6);
COMMIT;
