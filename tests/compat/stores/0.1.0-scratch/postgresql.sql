--
-- PostgreSQL database dump
--


-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: access_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.access_tokens (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    name character varying(200) NOT NULL,
    token_hash character varying(64) NOT NULL COLLATE pg_catalog."C",
    read_only boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone
);


--
-- Name: reader_outlines; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.reader_outlines (
    content character varying(64) NOT NULL COLLATE pg_catalog."C",
    size integer NOT NULL,
    outline text NOT NULL,
    kept_at timestamp with time zone NOT NULL
);


--
-- Name: rolltop_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rolltop_versions (
    version_num character varying(32) NOT NULL
);


--
-- Name: scratch_accesses; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_accesses (
    user_id uuid NOT NULL,
    scratch_id uuid NOT NULL,
    accessed_at timestamp with time zone NOT NULL
);


--
-- Name: scratch_cell_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_cell_tags (
    user_id uuid NOT NULL,
    cell_id uuid NOT NULL,
    tag character varying(200) NOT NULL COLLATE pg_catalog."C",
    scratch_id uuid NOT NULL
);


--
-- Name: scratch_cells; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_cells (
    user_id uuid NOT NULL,
    cell_id uuid NOT NULL,
    scratch_id uuid NOT NULL,
    "position" integer NOT NULL,
    language character varying(8) NOT NULL COLLATE pg_catalog."C",
    validate boolean NOT NULL,
    json_schema text,
    metadata text,
    tags text NOT NULL,
    version integer NOT NULL,
    sha256 character varying(64) NOT NULL COLLATE pg_catalog."C",
    bytes integer NOT NULL,
    characters integer NOT NULL,
    lines integer NOT NULL,
    tokens integer NOT NULL,
    first_line character varying(80) NOT NULL COLLATE pg_catalog."C",
    finding text
);


--
-- Name: scratch_contents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_contents (
    user_id uuid NOT NULL,
    cell_id uuid NOT NULL,
    content text NOT NULL
);


--
-- Name: scratch_namespaces; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_namespaces (
    user_id uuid NOT NULL,
    namespace character varying(200) NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL
);


--
-- Name: scratch_pad_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_pad_tags (
    user_id uuid NOT NULL,
    scratch_id uuid NOT NULL,
    tag character varying(200) NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: scratch_pads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_pads (
    user_id uuid NOT NULL,
    scratch_id uuid NOT NULL,
    namespace character varying(200) NOT NULL COLLATE pg_catalog."C",
    tags text NOT NULL,
    metadata text NOT NULL,
    title_key character varying(200) NOT NULL COLLATE pg_catalog."C",
    cell_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version integer NOT NULL,
    deleted_at timestamp with time zone
);


--
-- Name: scratch_schemas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scratch_schemas (
    user_id uuid NOT NULL,
    scratch_id uuid NOT NULL,
    id uuid NOT NULL,
    name character varying(200) NOT NULL COLLATE pg_catalog."C",
    description text NOT NULL,
    schema text NOT NULL
);


--
-- Name: search_filters; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_filters (
    item_id bigint NOT NULL,
    name character varying(40) NOT NULL COLLATE pg_catalog."C",
    value character varying NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL
);


--
-- Name: search_items; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_items (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    kind character varying(40) NOT NULL COLLATE pg_catalog."C",
    ref character varying(400) NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: search_items_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.search_items_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: search_items_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.search_items_id_seq OWNED BY public.search_items.id;


--
-- Name: search_parts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_parts (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    item_id bigint NOT NULL,
    kind character varying(40) NOT NULL COLLATE pg_catalog."C",
    part integer NOT NULL,
    digest character varying(32) NOT NULL COLLATE pg_catalog."C",
    length integer NOT NULL,
    embedding character varying(100) COLLATE pg_catalog."C"
);


--
-- Name: search_parts_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.search_parts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: search_parts_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.search_parts_id_seq OWNED BY public.search_parts.id;


--
-- Name: search_texts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_texts (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    text text NOT NULL,
    words tsvector NOT NULL
);


--
-- Name: search_vectors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_vectors (
    id bigint NOT NULL,
    part_id bigint NOT NULL,
    user_id uuid NOT NULL,
    embedding character varying(100) NOT NULL COLLATE pg_catalog."C",
    vector bytea NOT NULL
);


--
-- Name: search_vectors_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.search_vectors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: search_vectors_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.search_vectors_id_seq OWNED BY public.search_vectors.id;


--
-- Name: task_blockers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.task_blockers (
    user_id uuid NOT NULL,
    task_id uuid NOT NULL,
    blocker_id uuid NOT NULL
);


--
-- Name: task_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.task_tags (
    user_id uuid NOT NULL,
    task_id uuid NOT NULL,
    tag character varying(50) NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: tasks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tasks (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    title character varying(200) NOT NULL,
    description character varying(2000),
    status character varying(9) NOT NULL COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    version integer NOT NULL,
    priority integer,
    due_at timestamp with time zone,
    parent_id uuid,
    links text,
    claim_hash character varying(64) COLLATE pg_catalog."C",
    claimed_until timestamp with time zone,
    deleted_at timestamp with time zone,
    CONSTRAINT ck_tasks_priority CHECK (((priority >= 0) AND (priority <= 4))),
    CONSTRAINT ck_tasks_status CHECK (((status)::text = ANY ((ARRAY['pending'::character varying, 'completed'::character varying])::text[]))),
    CONSTRAINT ck_tasks_title CHECK ((length((title)::text) >= 1))
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id uuid NOT NULL,
    email character varying(254) NOT NULL COLLATE pg_catalog."C",
    password_hash character varying(255),
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone
);


--
-- Name: search_items id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_items ALTER COLUMN id SET DEFAULT nextval('public.search_items_id_seq'::regclass);


--
-- Name: search_parts id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_parts ALTER COLUMN id SET DEFAULT nextval('public.search_parts_id_seq'::regclass);


--
-- Name: search_vectors id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_vectors ALTER COLUMN id SET DEFAULT nextval('public.search_vectors_id_seq'::regclass);


--
-- Data for Name: access_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.access_tokens VALUES ('c101c6f2-0423-4adb-ad7f-c1f160997549', 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'laptop', 'a48b29393612e6953a80d98345a02d2dc870646cbc08921115ef0b3a64787218', true, '2026-11-22 08:23:20.283303+05:45', NULL, NULL, NULL);


--
-- Data for Name: reader_outlines; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: rolltop_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.rolltop_versions VALUES ('core_0002');
INSERT INTO public.rolltop_versions VALUES ('reader_0001');
INSERT INTO public.rolltop_versions VALUES ('scratch_0001');
INSERT INTO public.rolltop_versions VALUES ('tasks_0001');


--
-- Data for Name: scratch_accesses; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: scratch_cell_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_cell_tags VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', 'pairs', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');


--
-- Data for Name: scratch_cells; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_cells VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 0, 'json', true, '"scratchpad://schemas/pair"', '{"from":"nowhere"}', '["pairs"]', 1, 'acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349', 4, 4, 1, 3, '[1]', '{"valid":false,"errors":1,"warnings":0,"validator":"1-53916ba2","sha256":"acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349"}');
INSERT INTO public.scratch_cells VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '461ce52e-5713-40f5-bb7f-c6a33dc737f4', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 1, 'md', false, NULL, NULL, '[]', 1, 'ef7deb4c325bd0655d52f0457a94131825c17b11bc294315d3f9defe85b435bf', 32, 31, 3, 10, '# Walrus', NULL);
INSERT INTO public.scratch_cells VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '4433f831-0ac6-4800-a5af-556aa45096ce', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 2, 'txt', false, NULL, NULL, '[]', 1, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, 0, 0, 0, '', NULL);
INSERT INTO public.scratch_cells VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '284bca38-8e14-4cfc-ac54-d5b0a59069c3', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e02', 0, 'txt', false, NULL, NULL, '[]', 1, '283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247', 4, 4, 1, 1, 'gone', NULL);


--
-- Data for Name: scratch_contents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_contents VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', '[1]
');
INSERT INTO public.scratch_contents VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '461ce52e-5713-40f5-bb7f-c6a33dc737f4', '# Walrus

camelCase und Straße
');
INSERT INTO public.scratch_contents VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '4433f831-0ac6-4800-a5af-556aa45096ce', '');
INSERT INTO public.scratch_contents VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '284bca38-8e14-4cfc-ac54-d5b0a59069c3', 'gone');


--
-- Data for Name: scratch_namespaces; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_namespaces VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', 'größe', '2026-11-22 08:23:20.105612+05:45');
INSERT INTO public.scratch_namespaces VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', 'default', '2026-11-22 08:23:20.192966+05:45');
INSERT INTO public.scratch_namespaces VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', 'empty', '2026-11-22 08:23:20.250152+05:45');


--
-- Data for Name: scratch_pad_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_pad_tags VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'home');
INSERT INTO public.scratch_pad_tags VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', '日本');


--
-- Data for Name: scratch_pads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_pads VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'größe', '["home","日本"]', '{"title":"Żółć 😀","kept":[1,null,{"deep":true}]}', 'żółć 😀', 3, '2026-11-22 08:23:20.105612+05:45', '2026-11-22 08:23:20.105612+05:45', 1, NULL);
INSERT INTO public.scratch_pads VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e02', 'default', '[]', '{}', '', 1, '2026-11-22 08:23:20.192966+05:45', '2026-11-22 08:23:20.234465+05:45', 2, '2026-11-22 08:23:20.234465+05:45');


--
-- Data for Name: scratch_schemas; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_schemas VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'acdf68b8-b685-4709-b448-39f0f8432154', 'pair', '', '{"type":"array","minItems":2}');


--
-- Data for Name: search_filters; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_filters VALUES (1, 'namespace', 'größe', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (1, 'tags', 'home', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (1, 'tags', '日本', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (2, 'namespace', 'größe', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (2, 'tags', 'home', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (2, 'tags', 'pairs', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (2, 'tags', '日本', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (3, 'namespace', 'größe', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (3, 'tags', 'home', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (3, 'tags', '日本', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (4, 'namespace', 'größe', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (4, 'tags', 'home', 'f942cadf-d2d7-4487-a500-b7b5614f9add');
INSERT INTO public.search_filters VALUES (4, 'tags', '日本', 'f942cadf-d2d7-4487-a500-b7b5614f9add');


--
-- Data for Name: search_items; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_items VALUES (1, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'scratch_pad', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');
INSERT INTO public.search_items VALUES (2, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'scratch_cell', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03');
INSERT INTO public.search_items VALUES (3, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'scratch_cell', '461ce52e-5713-40f5-bb7f-c6a33dc737f4');
INSERT INTO public.search_items VALUES (4, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'scratch_cell', '4433f831-0ac6-4800-a5af-556aa45096ce');


--
-- Data for Name: search_parts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_parts VALUES (1, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 1, 'scratch_pad', 0, '8413194ffa0d711c1132446f55558684', 4, NULL);
INSERT INTO public.search_parts VALUES (2, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 2, 'scratch_cell', 0, 'acc07b62f23f458923737c4cd4a66bd0', 1, NULL);
INSERT INTO public.search_parts VALUES (3, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 3, 'scratch_cell', 0, 'ef7deb4c325bd0655d52f0457a941318', 6, NULL);
INSERT INTO public.search_parts VALUES (4, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 4, 'scratch_cell', 0, 'e3b0c44298fc1c149afbf4c8996fb924', 0, NULL);


--
-- Data for Name: search_texts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_texts VALUES (1, 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'Żółć 😀
home
日本', '''home'':2 ''zolc'':1 ''日本'':3 ''本'':4');
INSERT INTO public.search_texts VALUES (2, 'f942cadf-d2d7-4487-a500-b7b5614f9add', '[1]
', '''1'':1');
INSERT INTO public.search_texts VALUES (3, 'f942cadf-d2d7-4487-a500-b7b5614f9add', '# Walrus

camelCase und Straße
', '''camel'':3 ''camelcas'':2 ''case'':4 ''strass'':6 ''und'':5 ''walru'':1');
INSERT INTO public.search_texts VALUES (4, 'f942cadf-d2d7-4487-a500-b7b5614f9add', '', '');


--
-- Data for Name: search_vectors; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: task_blockers; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: task_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.task_tags VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '71e3a9b6-906b-4fc1-b42f-02064f583923', 'größe');
INSERT INTO public.task_tags VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', '71e3a9b6-906b-4fc1-b42f-02064f583923', 'home');


--
-- Data for Name: tasks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tasks VALUES ('314e1e17-ea76-4ecc-83d1-2481a011829d', 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'Water the plants', NULL, 'pending', '2026-11-22 08:23:20.044561+05:45', '2026-11-22 08:23:20.044561+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('616728ad-164d-4527-a2ea-5060b4507a32', 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'Żółć 😀', 'Ein Satz.
Und noch einer.', 'pending', '2026-11-22 08:23:20.056944+05:45', '2026-11-22 08:23:20.056944+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('81c467b3-2c1f-4a5d-be48-c1c7565d832c', 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'Pay the rent', NULL, 'pending', '2026-11-22 08:23:20.066986+05:45', '2026-11-22 08:23:20.066986+05:45', 1, 0, '2026-02-01 13:45:00+05:45', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('71e3a9b6-906b-4fc1-b42f-02064f583923', 'f942cadf-d2d7-4487-a500-b7b5614f9add', 'Pack', NULL, 'completed', '2026-11-22 08:23:20.083769+05:45', '2026-11-22 08:23:20.271985+05:45', 2, NULL, NULL, NULL, '["rolltop://note/1"]', NULL, NULL, NULL);


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES ('f942cadf-d2d7-4487-a500-b7b5614f9add', 'default@localhost', NULL, '2026-11-22 08:23:20.024209+05:45', NULL);


--
-- Name: search_items_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_items_id_seq', 6, true);


--
-- Name: search_parts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_parts_id_seq', 6, true);


--
-- Name: search_vectors_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_vectors_id_seq', 1, false);


--
-- Name: access_tokens pk_access_tokens; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT pk_access_tokens PRIMARY KEY (id);


--
-- Name: reader_outlines pk_reader_outlines; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.reader_outlines
    ADD CONSTRAINT pk_reader_outlines PRIMARY KEY (content);


--
-- Name: scratch_accesses pk_scratch_accesses; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_accesses
    ADD CONSTRAINT pk_scratch_accesses PRIMARY KEY (user_id, scratch_id);


--
-- Name: scratch_cell_tags pk_scratch_cell_tags; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_cell_tags
    ADD CONSTRAINT pk_scratch_cell_tags PRIMARY KEY (user_id, cell_id, tag);


--
-- Name: scratch_cells pk_scratch_cells; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_cells
    ADD CONSTRAINT pk_scratch_cells PRIMARY KEY (user_id, cell_id);


--
-- Name: scratch_contents pk_scratch_contents; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_contents
    ADD CONSTRAINT pk_scratch_contents PRIMARY KEY (user_id, cell_id);


--
-- Name: scratch_namespaces pk_scratch_namespaces; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_namespaces
    ADD CONSTRAINT pk_scratch_namespaces PRIMARY KEY (user_id, namespace);


--
-- Name: scratch_pad_tags pk_scratch_pad_tags; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_pad_tags
    ADD CONSTRAINT pk_scratch_pad_tags PRIMARY KEY (user_id, scratch_id, tag);


--
-- Name: scratch_pads pk_scratch_pads; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_pads
    ADD CONSTRAINT pk_scratch_pads PRIMARY KEY (user_id, scratch_id);


--
-- Name: scratch_schemas pk_scratch_schemas; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_schemas
    ADD CONSTRAINT pk_scratch_schemas PRIMARY KEY (user_id, scratch_id, id);


--
-- Name: search_filters pk_search_filters; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_filters
    ADD CONSTRAINT pk_search_filters PRIMARY KEY (item_id, name, value);


--
-- Name: search_items pk_search_items; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_items
    ADD CONSTRAINT pk_search_items PRIMARY KEY (id);


--
-- Name: search_parts pk_search_parts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_parts
    ADD CONSTRAINT pk_search_parts PRIMARY KEY (id);


--
-- Name: search_texts pk_search_texts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_texts
    ADD CONSTRAINT pk_search_texts PRIMARY KEY (id);


--
-- Name: search_vectors pk_search_vectors; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_vectors
    ADD CONSTRAINT pk_search_vectors PRIMARY KEY (id);


--
-- Name: task_blockers pk_task_blockers; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_blockers
    ADD CONSTRAINT pk_task_blockers PRIMARY KEY (user_id, task_id, blocker_id);


--
-- Name: task_tags pk_task_tags; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_tags
    ADD CONSTRAINT pk_task_tags PRIMARY KEY (user_id, task_id, tag);


--
-- Name: tasks pk_tasks; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT pk_tasks PRIMARY KEY (id);


--
-- Name: users pk_users; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);


--
-- Name: rolltop_versions rolltop_versions_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rolltop_versions
    ADD CONSTRAINT rolltop_versions_pkc PRIMARY KEY (version_num);


--
-- Name: access_tokens uq_access_tokens_token_hash; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT uq_access_tokens_token_hash UNIQUE (token_hash);


--
-- Name: scratch_schemas uq_scratch_schemas_user_id_scratch_id_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_schemas
    ADD CONSTRAINT uq_scratch_schemas_user_id_scratch_id_name UNIQUE (user_id, scratch_id, name);


--
-- Name: tasks uq_tasks_user_id_id; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT uq_tasks_user_id_id UNIQUE (user_id, id);


--
-- Name: users uq_users_email; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_email UNIQUE (email);


--
-- Name: ix_access_tokens_user_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_access_tokens_user_id ON public.access_tokens USING btree (user_id);


--
-- Name: ix_reader_outlines_kept_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_reader_outlines_kept_at ON public.reader_outlines USING btree (kept_at);


--
-- Name: ix_scratch_cell_tags_user_id_scratch_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_cell_tags_user_id_scratch_id ON public.scratch_cell_tags USING btree (user_id, scratch_id);


--
-- Name: ix_scratch_cell_tags_user_id_tag; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_cell_tags_user_id_tag ON public.scratch_cell_tags USING btree (user_id, tag);


--
-- Name: ix_scratch_cells_user_id_scratch_id_position; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_cells_user_id_scratch_id_position ON public.scratch_cells USING btree (user_id, scratch_id, "position");


--
-- Name: ix_scratch_pad_tags_user_id_tag; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pad_tags_user_id_tag ON public.scratch_pad_tags USING btree (user_id, tag);


--
-- Name: ix_scratch_pads_deleted_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pads_deleted_at ON public.scratch_pads USING btree (deleted_at);


--
-- Name: ix_scratch_pads_user_id_created_at_scratch_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pads_user_id_created_at_scratch_id ON public.scratch_pads USING btree (user_id, created_at, scratch_id);


--
-- Name: ix_scratch_pads_user_id_namespace_updated_at_scratch_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pads_user_id_namespace_updated_at_scratch_id ON public.scratch_pads USING btree (user_id, namespace, updated_at, scratch_id);


--
-- Name: ix_scratch_pads_user_id_title_key_scratch_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pads_user_id_title_key_scratch_id ON public.scratch_pads USING btree (user_id, title_key, scratch_id);


--
-- Name: ix_scratch_pads_user_id_updated_at_scratch_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_scratch_pads_user_id_updated_at_scratch_id ON public.scratch_pads USING btree (user_id, updated_at, scratch_id);


--
-- Name: ix_search_filters_user_id_name_value_item_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_filters_user_id_name_value_item_id ON public.search_filters USING btree (user_id, name, value, item_id);


--
-- Name: ix_search_items_user_id_kind_ref; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX ix_search_items_user_id_kind_ref ON public.search_items USING btree (user_id, kind, ref);


--
-- Name: ix_search_parts_embedding_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_parts_embedding_id ON public.search_parts USING btree (embedding, id);


--
-- Name: ix_search_parts_item_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_parts_item_id ON public.search_parts USING btree (item_id);


--
-- Name: ix_search_parts_user_id_id_length; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_parts_user_id_id_length ON public.search_parts USING btree (user_id, id, length);


--
-- Name: ix_search_texts_words; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_texts_words ON public.search_texts USING gin (words);


--
-- Name: ix_search_vectors_part_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_vectors_part_id ON public.search_vectors USING btree (part_id);


--
-- Name: ix_search_vectors_user_id_embedding_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_vectors_user_id_embedding_id ON public.search_vectors USING btree (user_id, embedding, id);


--
-- Name: ix_task_blockers_user_id_blocker_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_task_blockers_user_id_blocker_id ON public.task_blockers USING btree (user_id, blocker_id);


--
-- Name: ix_task_tags_user_id_tag_task_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_task_tags_user_id_tag_task_id ON public.task_tags USING btree (user_id, tag, task_id);


--
-- Name: ix_tasks_deleted_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tasks_deleted_at ON public.tasks USING btree (deleted_at);


--
-- Name: ix_tasks_parent_id_user_id_created_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tasks_parent_id_user_id_created_at_id ON public.tasks USING btree (parent_id, user_id, created_at, id);


--
-- Name: ix_tasks_user_id_created_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tasks_user_id_created_at_id ON public.tasks USING btree (user_id, created_at, id);


--
-- Name: ix_tasks_user_id_status_created_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tasks_user_id_status_created_at_id ON public.tasks USING btree (user_id, status, created_at, id);


--
-- Name: access_tokens fk_access_tokens_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT fk_access_tokens_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: scratch_accesses fk_scratch_accesses_user_id_scratch_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_accesses
    ADD CONSTRAINT fk_scratch_accesses_user_id_scratch_id FOREIGN KEY (user_id, scratch_id) REFERENCES public.scratch_pads(user_id, scratch_id) ON DELETE CASCADE;


--
-- Name: scratch_cell_tags fk_scratch_cell_tags_user_id_cell_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_cell_tags
    ADD CONSTRAINT fk_scratch_cell_tags_user_id_cell_id FOREIGN KEY (user_id, cell_id) REFERENCES public.scratch_cells(user_id, cell_id) ON DELETE CASCADE;


--
-- Name: scratch_cells fk_scratch_cells_user_id_scratch_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_cells
    ADD CONSTRAINT fk_scratch_cells_user_id_scratch_id FOREIGN KEY (user_id, scratch_id) REFERENCES public.scratch_pads(user_id, scratch_id) ON DELETE CASCADE;


--
-- Name: scratch_contents fk_scratch_contents_user_id_cell_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_contents
    ADD CONSTRAINT fk_scratch_contents_user_id_cell_id FOREIGN KEY (user_id, cell_id) REFERENCES public.scratch_cells(user_id, cell_id) ON DELETE CASCADE;


--
-- Name: scratch_namespaces fk_scratch_namespaces_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_namespaces
    ADD CONSTRAINT fk_scratch_namespaces_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: scratch_pad_tags fk_scratch_pad_tags_user_id_scratch_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_pad_tags
    ADD CONSTRAINT fk_scratch_pad_tags_user_id_scratch_id FOREIGN KEY (user_id, scratch_id) REFERENCES public.scratch_pads(user_id, scratch_id) ON DELETE CASCADE;


--
-- Name: scratch_pads fk_scratch_pads_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_pads
    ADD CONSTRAINT fk_scratch_pads_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: scratch_schemas fk_scratch_schemas_user_id_scratch_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scratch_schemas
    ADD CONSTRAINT fk_scratch_schemas_user_id_scratch_id FOREIGN KEY (user_id, scratch_id) REFERENCES public.scratch_pads(user_id, scratch_id) ON DELETE CASCADE;


--
-- Name: search_filters fk_search_filters_item_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_filters
    ADD CONSTRAINT fk_search_filters_item_id FOREIGN KEY (item_id) REFERENCES public.search_items(id) ON DELETE CASCADE;


--
-- Name: search_items fk_search_items_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_items
    ADD CONSTRAINT fk_search_items_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: search_parts fk_search_parts_item_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_parts
    ADD CONSTRAINT fk_search_parts_item_id FOREIGN KEY (item_id) REFERENCES public.search_items(id) ON DELETE CASCADE;


--
-- Name: search_texts fk_search_texts_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_texts
    ADD CONSTRAINT fk_search_texts_id FOREIGN KEY (id) REFERENCES public.search_parts(id) ON DELETE CASCADE;


--
-- Name: search_vectors fk_search_vectors_part_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_vectors
    ADD CONSTRAINT fk_search_vectors_part_id FOREIGN KEY (part_id) REFERENCES public.search_parts(id) ON DELETE CASCADE;


--
-- Name: task_blockers fk_task_blockers_user_id_blocker_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_blockers
    ADD CONSTRAINT fk_task_blockers_user_id_blocker_id FOREIGN KEY (user_id, blocker_id) REFERENCES public.tasks(user_id, id) ON DELETE CASCADE;


--
-- Name: task_blockers fk_task_blockers_user_id_task_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_blockers
    ADD CONSTRAINT fk_task_blockers_user_id_task_id FOREIGN KEY (user_id, task_id) REFERENCES public.tasks(user_id, id) ON DELETE CASCADE;


--
-- Name: task_tags fk_task_tags_user_id_task_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.task_tags
    ADD CONSTRAINT fk_task_tags_user_id_task_id FOREIGN KEY (user_id, task_id) REFERENCES public.tasks(user_id, id) ON DELETE CASCADE;


--
-- Name: tasks fk_tasks_parent_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT fk_tasks_parent_id FOREIGN KEY (parent_id) REFERENCES public.tasks(id) ON DELETE SET NULL;


--
-- Name: tasks fk_tasks_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT fk_tasks_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--


