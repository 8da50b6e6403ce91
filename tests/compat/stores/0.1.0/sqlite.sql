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
INSERT INTO "access_tokens" VALUES('29f59127f7b5410fa3d8d026197e7498','7e5bdcffde8f42d487d6668fceb3abfd','laptop','429b036af19fd19a7fe42353328e83e560abdf447caa22c7943d25eb03c45fae',1,'2026-11-28T07:11:20.731541Z',NULL,NULL,NULL);
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
CREATE TABLE note_tags (
	number INTEGER NOT NULL,
	tag TEXT NOT NULL,
	user_id CHAR(32) NOT NULL,
	CONSTRAINT pk_note_tags PRIMARY KEY (number, tag),
	CONSTRAINT fk_note_tags_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
)
 WITHOUT ROWID;
INSERT INTO "note_tags" VALUES(1,'grösse','7e5bdcffde8f42d487d6668fceb3abfd');
CREATE TABLE note_texts (
	number INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	content TEXT NOT NULL,
	base TEXT,
	CONSTRAINT pk_note_texts PRIMARY KEY (number),
	CONSTRAINT fk_note_texts_number FOREIGN KEY(number) REFERENCES notes (number) ON DELETE CASCADE
);
INSERT INTO "note_texts" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd','Shelf
A walrus and Żółć 😀',NULL);
INSERT INTO "note_texts" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd','w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39 w40 w41 w42 w43 w44 w45 w46 w47 w48 w49 w50 w51 w52 w53 w54 w55 w56 w57 w58 w59 w60 w61 w62 w63 w64 w65 w66 w67 w68 w69 w70 w71 w72 w73 w74 w75 w76 w77 w78 w79 w80 w81 w82 w83 w84 w85 w86 w87 w88 w89 w90 w91 w92 w93 w94 w95 w96 w97 w98 w99',NULL);
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
INSERT INTO "notes" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd','local','76e52ffe-d5ed-4341-a3d9-91a406022472',0,1.79584988054390501974e+09,1.79584988054390501974e+09,1,NULL,'local','local','Shelf','["größe"]','[]','{}');
INSERT INTO "notes" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd','local','2594e353-8adb-4084-a8ba-20a5a45a9dc4',0,1.79584988060102605823e+09,1.79584988060102605823e+09,1,NULL,'local','local','w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w…','[]','[]','{}');
CREATE TABLE reader_outlines (
	content VARCHAR(64) NOT NULL,
	size INTEGER NOT NULL,
	outline TEXT NOT NULL,
	kept_at VARCHAR(27) NOT NULL,
	CONSTRAINT pk_reader_outlines PRIMARY KEY (content)
);
CREATE TABLE rolltop_versions (version_num VARCHAR(32) NOT NULL, CONSTRAINT rolltop_versions_pkc PRIMARY KEY (version_num));
INSERT INTO "rolltop_versions" VALUES('core_0006');
INSERT INTO "rolltop_versions" VALUES('notes_0002');
INSERT INTO "rolltop_versions" VALUES('reader_0001');
INSERT INTO "rolltop_versions" VALUES('scratch_0001');
INSERT INTO "rolltop_versions" VALUES('tasks_0002');
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
INSERT INTO "scratch_cell_tags" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e03','pairs','0b5f3a526c1e4c5a9a521f6a3b0d7e01');
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
INSERT INTO "scratch_cells" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e03','0b5f3a526c1e4c5a9a521f6a3b0d7e01',0,'json',1,'"scratchpad://schemas/pair"','{"from":"nowhere"}','["pairs"]',1,'acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349',4,4,1,3,'[1]','{"valid":false,"errors":1,"warnings":0,"validator":"3-53916ba2","sha256":"acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349"}');
INSERT INTO "scratch_cells" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','c80f970b9ad5492496ed143da3e70028','0b5f3a526c1e4c5a9a521f6a3b0d7e01',1,'md',0,NULL,NULL,'[]',1,'ef7deb4c325bd0655d52f0457a94131825c17b11bc294315d3f9defe85b435bf',32,31,3,10,'# Walrus',NULL);
INSERT INTO "scratch_cells" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','e245ad9749d04c6689dd57f8b4eb25cb','0b5f3a526c1e4c5a9a521f6a3b0d7e01',2,'txt',0,NULL,NULL,'[]',1,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0,0,0,0,'',NULL);
INSERT INTO "scratch_cells" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','1b4549b3e10a4eacb5c0824f191363cb','0b5f3a526c1e4c5a9a521f6a3b0d7e02',0,'txt',0,NULL,NULL,'[]',1,'283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247',4,4,1,1,'gone',NULL);
CREATE TABLE scratch_contents (
	user_id CHAR(32) NOT NULL,
	cell_id CHAR(32) NOT NULL,
	content TEXT NOT NULL,
	CONSTRAINT pk_scratch_contents PRIMARY KEY (user_id, cell_id),
	CONSTRAINT fk_scratch_contents_user_id_cell_id FOREIGN KEY(user_id, cell_id) REFERENCES scratch_cells (user_id, cell_id) ON DELETE CASCADE
);
INSERT INTO "scratch_contents" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e03','[1]
');
INSERT INTO "scratch_contents" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','c80f970b9ad5492496ed143da3e70028','# Walrus

camelCase und Straße
');
INSERT INTO "scratch_contents" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','e245ad9749d04c6689dd57f8b4eb25cb','');
INSERT INTO "scratch_contents" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','1b4549b3e10a4eacb5c0824f191363cb','gone');
CREATE TABLE scratch_namespaces (
	user_id CHAR(32) NOT NULL,
	namespace VARCHAR(200) NOT NULL,
	created_at VARCHAR(27) NOT NULL,
	CONSTRAINT pk_scratch_namespaces PRIMARY KEY (user_id, namespace),
	CONSTRAINT fk_scratch_namespaces_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "scratch_namespaces" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','größe','2026-11-28T07:11:19.957258Z');
INSERT INTO "scratch_namespaces" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','default','2026-11-28T07:11:20.271055Z');
INSERT INTO "scratch_namespaces" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','empty','2026-11-28T07:11:20.396856Z');
CREATE TABLE scratch_pad_tags (
	user_id CHAR(32) NOT NULL,
	scratch_id CHAR(32) NOT NULL,
	tag VARCHAR(200) NOT NULL,
	CONSTRAINT pk_scratch_pad_tags PRIMARY KEY (user_id, scratch_id, tag),
	CONSTRAINT fk_scratch_pad_tags_user_id_scratch_id FOREIGN KEY(user_id, scratch_id) REFERENCES scratch_pads (user_id, scratch_id) ON DELETE CASCADE
);
INSERT INTO "scratch_pad_tags" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e01','home');
INSERT INTO "scratch_pad_tags" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e01','日本');
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
INSERT INTO "scratch_pads" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e01','größe','["home","日本"]','{"title":"Żółć 😀","kept":[1,null,{"deep":true}]}','żółć 😀',3,'2026-11-28T07:11:19.957258Z','2026-11-28T07:11:19.957258Z',1,NULL);
INSERT INTO "scratch_pads" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e02','default','[]','{}','',1,'2026-11-28T07:11:20.271055Z','2026-11-28T07:11:20.326216Z',2,'2026-11-28T07:11:20.326216Z');
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
INSERT INTO "scratch_schemas" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','0b5f3a526c1e4c5a9a521f6a3b0d7e01','be13546bf51440a68135990f30baa4d6','pair','','{"type":"array","minItems":2}');
CREATE TABLE search_filters (
	item_id INTEGER NOT NULL,
	name VARCHAR(40) NOT NULL,
	value TEXT NOT NULL,
	user_id CHAR(32) NOT NULL,
	CONSTRAINT pk_search_filters PRIMARY KEY (item_id, name, value),
	CONSTRAINT fk_search_filters_item_id FOREIGN KEY(item_id) REFERENCES search_items (id) ON DELETE CASCADE
)
 WITHOUT ROWID;
INSERT INTO "search_filters" VALUES(1,'namespace','größe','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(2,'namespace','größe','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(3,'namespace','größe','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(4,'namespace','größe','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(1,'tags','home','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(2,'tags','home','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(3,'tags','home','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(4,'tags','home','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(2,'tags','pairs','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(1,'tags','日本','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(2,'tags','日本','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(3,'tags','日本','7e5bdcffde8f42d487d6668fceb3abfd');
INSERT INTO "search_filters" VALUES(4,'tags','日本','7e5bdcffde8f42d487d6668fceb3abfd');
CREATE TABLE search_items (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id CHAR(32) NOT NULL,
	kind VARCHAR(40) NOT NULL,
	ref VARCHAR(400) NOT NULL,
	CONSTRAINT fk_search_items_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "search_items" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd','scratch_pad','0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');
INSERT INTO "search_items" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd','scratch_cell','0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03');
INSERT INTO "search_items" VALUES(3,'7e5bdcffde8f42d487d6668fceb3abfd','scratch_cell','c80f970b-9ad5-4924-96ed-143da3e70028');
INSERT INTO "search_items" VALUES(4,'7e5bdcffde8f42d487d6668fceb3abfd','scratch_cell','e245ad97-49d0-4c66-89dd-57f8b4eb25cb');
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
INSERT INTO "search_parts" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd',1,'scratch_pad',0,'8413194ffa0d711c1132446f55558684',4,NULL);
INSERT INTO "search_parts" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd',2,'scratch_cell',0,'acc07b62f23f458923737c4cd4a66bd0',1,NULL);
INSERT INTO "search_parts" VALUES(3,'7e5bdcffde8f42d487d6668fceb3abfd',3,'scratch_cell',0,'ef7deb4c325bd0655d52f0457a941318',6,NULL);
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
INSERT INTO "search_texts" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd','Żółć 😀
home
日本','zolc home 日本 本');
INSERT INTO "search_texts" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd','[1]
','1');
INSERT INTO "search_texts" VALUES(3,'7e5bdcffde8f42d487d6668fceb3abfd','# Walrus

camelCase und Straße
','walru camelcas camel case und strass');
CREATE TABLE search_vectors (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	part_id INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	embedding VARCHAR(100) NOT NULL,
	vector BLOB NOT NULL,
	CONSTRAINT fk_search_vectors_part_id FOREIGN KEY(part_id) REFERENCES search_parts (id) ON DELETE CASCADE
);
CREATE TABLE search_whole_parts (
	whole_id INTEGER NOT NULL,
	part INTEGER NOT NULL,
	user_id CHAR(32) NOT NULL,
	words TEXT NOT NULL,
	CONSTRAINT pk_search_whole_parts PRIMARY KEY (whole_id, part),
	CONSTRAINT fk_search_whole_parts_whole_id FOREIGN KEY(whole_id) REFERENCES search_wholes (id) ON DELETE CASCADE
);
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','search_whole_words','search_whole_words',0,'CREATE VIRTUAL TABLE search_whole_words USING fts5(words, content=''search_wholes'', content_rowid=''id'', tokenize=''ascii'')');
CREATE TABLE 'search_whole_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "search_whole_words_config" VALUES('version',4);
CREATE TABLE 'search_whole_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "search_whole_words_data" VALUES(1,X'028231');
INSERT INTO "search_whole_words_data" VALUES(10,X'000000000102020002010101020101');
INSERT INTO "search_whole_words_data" VALUES(137438953473,X'0000002E02306101020302026E6401020501057368656C66010202010577616C727501020401047A6F6C630102060406070A0A');
INSERT INTO "search_whole_words_data" VALUES(274877906945,X'0000059202303002020401013102020702013002022202013102022502013202022802013302022B02013402022E02013502023102013602023402013702023702013802023A02013902023D01013202020A02013002024002013102024302013202024602013302024902013402024C02013502024F02013602025202013702025502013802025802013902025B01013302020D02013002025E02013102026102013202026402013302026702013402026A02013502026D02013602027002013702027302013802027602013902027901013402021002013002027C02013102027F0201320204810202013302048105020134020481080201350204810B0201360204810E0201370204811102013802048114020139020481170101350202130201300204811A0201310204811D020132020481200201330204812302013402048126020135020481290201360204812C0201370204812F0201380204813202013902048135010136020216020130020481380201310204813B0201320204813E0201330204814102013402048144020135020481470201360204814A0201370204814D020138020481500201390204815301013702021902013002048156020131020481590201320204815C0201330204815F0201340204816202013502048165020136020481680201370204816B0201380204816E0201390204817101013802021C02013002048174020131020481770201320204817A0201330204817D020134020482000201350204820302013602048206020137020482090201380204820C0201390204820F01013902021F0201300204821202013102048215020132020482180201330204821B0201340204821E0201350204822102013602048224020137020482270201380204822A0201390204822D0101770281480305050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050505050502013002020202013102020503013002022003013102022303013202022603013302022903013402022C03013502022F03013602023203013702023503013802023803013902023B02013202020803013002023E03013102024103013202024403013302024703013402024A03013502024D03013602025003013702025303013802025603013902025902013302020B03013002025C03013102025F03013202026203013302026503013402026803013502026B03013602026E03013702027103013802027403013902027702013402020E03013002027A03013102027D030132020481000301330204810303013402048106030135020481090301360204810C0301370204810F0301380204811203013902048115020135020211030130020481180301310204811B0301320204811E0301330204812103013402048124030135020481270301360204812A0301370204812D030138020481300301390204813302013602021403013002048136030131020481390301320204813C0301330204813F0301340204814203013502048145030136020481480301370204814B0301380204814E0301390204815102013702021703013002048154030131020481570301320204815A0301330204815D030134020481600301350204816303013602048166030137020481690301380204816C0301390204816F02013802021A0301300204817203013102048175030132020481780301330204817B0301340204817E0301350204820103013602048204030137020482070301380204820A0301390204820D02013902021D030130020482100301310204821303013202048216030133020482190301340204821C0301350204821F0301360204822203013702048225030138020482280301390204822B04060606060606060606060606060606060606060606060606060606060606060606060606060707070707070707060707070707070707070706070707070707070707070607070707070707070707060707070707070707070706070707070707070707076A060606060606060606060606060606060606060606060606060606060606060606060606060707070707070707060707070707070707070706070707070707070707070607070707070707070707060707070707070707070706070707070707070707');
CREATE TABLE 'search_whole_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO "search_whole_words_docsize" VALUES(1,X'05');
INSERT INTO "search_whole_words_docsize" VALUES(2,X'822C');
CREATE TABLE 'search_whole_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "search_whole_words_idx" VALUES(1,X'',2);
INSERT INTO "search_whole_words_idx" VALUES(2,X'',2);
CREATE TABLE search_wholes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	user_id CHAR(32) NOT NULL,
	is_long BOOLEAN NOT NULL,
	words TEXT NOT NULL,
	CONSTRAINT fk_search_wholes_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "search_wholes" VALUES(1,'7e5bdcffde8f42d487d6668fceb3abfd',0,'shelf a walru and zolc');
INSERT INTO "search_wholes" VALUES(2,'7e5bdcffde8f42d487d6668fceb3abfd',0,'w0 w 0 w1 w 1 w2 w 2 w3 w 3 w4 w 4 w5 w 5 w6 w 6 w7 w 7 w8 w 8 w9 w 9 w10 w 10 w11 w 11 w12 w 12 w13 w 13 w14 w 14 w15 w 15 w16 w 16 w17 w 17 w18 w 18 w19 w 19 w20 w 20 w21 w 21 w22 w 22 w23 w 23 w24 w 24 w25 w 25 w26 w 26 w27 w 27 w28 w 28 w29 w 29 w30 w 30 w31 w 31 w32 w 32 w33 w 33 w34 w 34 w35 w 35 w36 w 36 w37 w 37 w38 w 38 w39 w 39 w40 w 40 w41 w 41 w42 w 42 w43 w 43 w44 w 44 w45 w 45 w46 w 46 w47 w 47 w48 w 48 w49 w 49 w50 w 50 w51 w 51 w52 w 52 w53 w 53 w54 w 54 w55 w 55 w56 w 56 w57 w 57 w58 w 58 w59 w 59 w60 w 60 w61 w 61 w62 w 62 w63 w 63 w64 w 64 w65 w 65 w66 w 66 w67 w 67 w68 w 68 w69 w 69 w70 w 70 w71 w 71 w72 w 72 w73 w 73 w74 w 74 w75 w 75 w76 w 76 w77 w 77 w78 w 78 w79 w 79 w80 w 80 w81 w 81 w82 w 82 w83 w 83 w84 w 84 w85 w 85 w86 w 86 w87 w 87 w88 w 88 w89 w 89 w90 w 90 w91 w 91 w92 w 92 w93 w 93 w94 w 94 w95 w 95 w96 w 96 w97 w 97 w98 w 98 w99 w 99');
INSERT INTO sqlite_master(type,name,tbl_name,rootpage,sql)VALUES('table','search_words','search_words',0,'CREATE VIRTUAL TABLE search_words USING fts5(words, content=''search_texts'', content_rowid=''id'', tokenize=''ascii'')');
CREATE TABLE 'search_words_config'(k PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO "search_words_config" VALUES('version',4);
CREATE TABLE 'search_words_data'(id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO "search_words_data" VALUES(1,X'030B');
INSERT INTO "search_words_data" VALUES(10,X'000000000104040004010101020101030101040101');
INSERT INTO "search_words_data" VALUES(137438953473,X'000000280530686F6D6501020301047A6F6C630102020106E697A5E69CAC01020402029CAC0102050409090B');
INSERT INTO "search_words_data" VALUES(274877906945,X'00000040023031020202010563616D656C03020406036361730302030302736503020501067374726173730302070103756E64030206010577616C727503020204060A08070B08');
INSERT INTO "search_words_data" VALUES(412316860417,X'0000000D0530676F6E6504020204');
INSERT INTO "search_words_data" VALUES(549755813889,X'0000000C0530676F6E65040104');
CREATE TABLE 'search_words_docsize'(id INTEGER PRIMARY KEY, sz BLOB);
INSERT INTO "search_words_docsize" VALUES(1,X'04');
INSERT INTO "search_words_docsize" VALUES(2,X'01');
INSERT INTO "search_words_docsize" VALUES(3,X'06');
CREATE TABLE 'search_words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID;
INSERT INTO "search_words_idx" VALUES(1,X'',2);
INSERT INTO "search_words_idx" VALUES(2,X'',2);
INSERT INTO "search_words_idx" VALUES(3,X'',2);
INSERT INTO "search_words_idx" VALUES(4,X'',2);
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
INSERT INTO "task_tags" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','b64af9a517c94071bfd252b9e844131d','größe');
INSERT INTO "task_tags" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','b64af9a517c94071bfd252b9e844131d','home');
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
INSERT INTO "tasks" VALUES('11e9f455d5d24b3c85e53d910b5c4c8a','7e5bdcffde8f42d487d6668fceb3abfd','Water the plants',NULL,'pending','2026-11-28T07:11:18.195857Z','2026-11-28T07:11:18.195857Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('54e6288328f3445cacd41ee771c3f812','7e5bdcffde8f42d487d6668fceb3abfd','Żółć 😀','Ein Satz.
Und noch einer.','pending','2026-11-28T07:11:18.252782Z','2026-11-28T07:11:18.252782Z',1,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('35d154be9e2c487d9669a626bc836a3e','7e5bdcffde8f42d487d6668fceb3abfd','Pay the rent',NULL,'pending','2026-11-28T07:11:18.323827Z','2026-11-28T07:11:18.323827Z',1,0,'2026-02-01T08:00:00.000000Z',NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tasks" VALUES('b64af9a517c94071bfd252b9e844131d','7e5bdcffde8f42d487d6668fceb3abfd','Pack',NULL,'completed','2026-11-28T07:11:18.379895Z','2026-11-28T07:11:20.702666Z',2,NULL,NULL,NULL,'["rolltop://note/1"]',NULL,NULL,NULL);
CREATE TABLE users (
	id CHAR(32) NOT NULL,
	email VARCHAR(254) NOT NULL,
	password_hash VARCHAR(255),
	created_at VARCHAR(27) NOT NULL,
	last_login_at VARCHAR(27),
	CONSTRAINT pk_users PRIMARY KEY (id),
	CONSTRAINT uq_users_email UNIQUE (email)
);
INSERT INTO "users" VALUES('7e5bdcffde8f42d487d6668fceb3abfd','default@localhost',NULL,'2026-11-28T07:11:17.772024Z',NULL);
CREATE INDEX ix_access_tokens_user_id ON access_tokens (user_id);
CREATE UNIQUE INDEX ix_search_items_user_id_kind_ref ON search_items (user_id, kind, ref);
CREATE INDEX ix_search_filters_user_id_name_value_item_id ON search_filters (user_id, name, value, item_id);
CREATE INDEX ix_search_parts_item_id ON search_parts (item_id);
CREATE INDEX ix_search_parts_user_id_id_length ON search_parts (user_id, id, length);
CREATE INDEX ix_search_parts_embedding_id ON search_parts (embedding, id);
CREATE INDEX ix_search_vectors_part_id ON search_vectors (part_id);
CREATE INDEX ix_search_vectors_user_id_embedding_id ON search_vectors (user_id, embedding, id);
CREATE INDEX ix_search_wholes_user_id ON search_wholes (user_id) WHERE is_long;
CREATE UNIQUE INDEX ix_notes_user_id_account_id ON notes (user_id, account, id);
CREATE INDEX ix_notes_user_id_account_modified_id ON notes (user_id, account, modified, id);
CREATE INDEX ix_notes_user_id_account_trash_modified_id ON notes (user_id, account, trash, modified, id);
CREATE INDEX ix_notes_user_id_account_trash_created_id ON notes (user_id, account, trash, created, id);
CREATE INDEX ix_notes_user_id_account_sync_state ON notes (user_id, account, sync_state);
CREATE INDEX ix_note_tags_user_id_tag_number ON note_tags (user_id, tag, number);
CREATE INDEX ix_note_versions_gone_at ON note_versions (gone_at);
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
CREATE INDEX ix_task_tags_user_id_tag_task_id ON task_tags (user_id, tag, task_id);
CREATE INDEX ix_task_blockers_user_id_blocker_id ON task_blockers (user_id, blocker_id);
CREATE INDEX ix_tasks_next ON tasks (user_id, coalesce(priority, 5), (due_at IS NULL), due_at, created_at, id) WHERE status = 'pending' AND deleted_at IS NULL;
CREATE INDEX ix_tasks_deleted_at ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;
PRAGMA writable_schema=OFF;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('search_items',6);
INSERT INTO "sqlite_sequence" VALUES('search_parts',4);
INSERT INTO "sqlite_sequence" VALUES('search_wholes',2);
COMMIT;
