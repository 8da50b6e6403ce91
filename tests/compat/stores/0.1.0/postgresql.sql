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
-- Name: note_accounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.note_accounts (
    user_id uuid NOT NULL,
    account character varying(64) NOT NULL COLLATE pg_catalog."C",
    is_active boolean NOT NULL,
    username character varying(320) COLLATE pg_catalog."C",
    cursor character varying COLLATE pg_catalog."C",
    status character varying(20) NOT NULL COLLATE pg_catalog."C",
    error_count integer NOT NULL,
    last_sync_at double precision,
    sync_duration_ms double precision,
    state text NOT NULL
);


--
-- Name: note_tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.note_tags (
    number bigint NOT NULL,
    tag character varying NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL
);


--
-- Name: note_texts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.note_texts (
    number bigint NOT NULL,
    user_id uuid NOT NULL,
    content text NOT NULL,
    base text
);


--
-- Name: note_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.note_versions (
    user_id uuid NOT NULL,
    account character varying(64) NOT NULL COLLATE pg_catalog."C",
    note_id character varying(256) NOT NULL COLLATE pg_catalog."C",
    local_version integer NOT NULL,
    server_version integer,
    modified double precision NOT NULL,
    created double precision NOT NULL,
    trash boolean NOT NULL,
    source character varying(20) NOT NULL COLLATE pg_catalog."C",
    size integer NOT NULL,
    gone_at double precision,
    tags text NOT NULL,
    system_tags text NOT NULL,
    extra text NOT NULL,
    content text NOT NULL
);


--
-- Name: notes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.notes (
    number bigint NOT NULL,
    user_id uuid NOT NULL,
    account character varying(64) NOT NULL COLLATE pg_catalog."C",
    id character varying(256) NOT NULL COLLATE pg_catalog."C",
    trash boolean NOT NULL,
    modified double precision NOT NULL,
    created double precision NOT NULL,
    local_version integer NOT NULL,
    server_version integer,
    sync_state character varying(8) NOT NULL COLLATE pg_catalog."C",
    source character varying(20) NOT NULL COLLATE pg_catalog."C",
    title character varying(80) NOT NULL COLLATE pg_catalog."C",
    tags text NOT NULL,
    system_tags text NOT NULL,
    extra text NOT NULL,
    CONSTRAINT ck_notes_local_version CHECK ((local_version >= 1)),
    CONSTRAINT ck_notes_sync_state CHECK (((sync_state)::text = ANY ((ARRAY['local'::character varying, 'synced'::character varying, 'pending'::character varying, 'conflict'::character varying])::text[])))
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
-- Name: search_whole_parts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_whole_parts (
    whole_id bigint NOT NULL,
    part integer NOT NULL,
    user_id uuid NOT NULL,
    words tsvector NOT NULL
);


--
-- Name: search_wholes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.search_wholes (
    id bigint NOT NULL,
    user_id uuid NOT NULL,
    is_long boolean NOT NULL,
    words tsvector NOT NULL
);


--
-- Name: search_wholes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.search_wholes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: search_wholes_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.search_wholes_id_seq OWNED BY public.search_wholes.id;


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
-- Name: search_wholes id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_wholes ALTER COLUMN id SET DEFAULT nextval('public.search_wholes_id_seq'::regclass);


--
-- Data for Name: access_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.access_tokens VALUES ('8bcc4ba0-7c21-44c3-b4bb-3437b9416a5a', '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'laptop', '5c8122dcb0a412c0bd9a491ce7f29e0c5a6eed0d65e5279b8900d3d741176b40', true, '2026-11-28 12:56:26.971791+05:45', NULL, NULL, NULL);


--
-- Data for Name: note_accounts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: note_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.note_tags VALUES (1, 'grösse', '63c57f6e-6e61-470e-bbce-417e488c0dc2');


--
-- Data for Name: note_texts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.note_texts VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Shelf
A walrus and Żółć 😀', NULL);
INSERT INTO public.note_texts VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 w30 w31 w32 w33 w34 w35 w36 w37 w38 w39 w40 w41 w42 w43 w44 w45 w46 w47 w48 w49 w50 w51 w52 w53 w54 w55 w56 w57 w58 w59 w60 w61 w62 w63 w64 w65 w66 w67 w68 w69 w70 w71 w72 w73 w74 w75 w76 w77 w78 w79 w80 w81 w82 w83 w84 w85 w86 w87 w88 w89 w90 w91 w92 w93 w94 w95 w96 w97 w98 w99', NULL);


--
-- Data for Name: note_versions; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: notes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.notes VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'local', '6be397a8-1d60-47cb-8bcd-d2c12ed1a698', false, 1795849886.79682, 1795849886.79682, 1, NULL, 'local', 'local', 'Shelf', '["größe"]', '[]', '{}');
INSERT INTO public.notes VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'local', '89a9041e-a66d-4655-bf0c-13a97d562ffb', false, 1795849886.870525, 1795849886.870525, 1, NULL, 'local', 'local', 'w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15 w16 w17 w18 w19 w20 w21 w…', '[]', '[]', '{}');


--
-- Data for Name: reader_outlines; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: rolltop_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.rolltop_versions VALUES ('core_0006');
INSERT INTO public.rolltop_versions VALUES ('notes_0002');
INSERT INTO public.rolltop_versions VALUES ('reader_0001');
INSERT INTO public.rolltop_versions VALUES ('scratch_0001');
INSERT INTO public.rolltop_versions VALUES ('tasks_0002');


--
-- Data for Name: scratch_accesses; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: scratch_cell_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_cell_tags VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', 'pairs', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');


--
-- Data for Name: scratch_cells; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_cells VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 0, 'json', true, '"scratchpad://schemas/pair"', '{"from":"nowhere"}', '["pairs"]', 1, 'acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349', 4, 4, 1, 3, '[1]', '{"valid":false,"errors":1,"warnings":0,"validator":"3-53916ba2","sha256":"acc07b62f23f458923737c4cd4a66bd05d1e71eb4f384003baaf2dcc760d6349"}');
INSERT INTO public.scratch_cells VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '357b07e2-23c6-4df0-90b1-51aa47c88a32', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 1, 'md', false, NULL, NULL, '[]', 1, 'ef7deb4c325bd0655d52f0457a94131825c17b11bc294315d3f9defe85b435bf', 32, 31, 3, 10, '# Walrus', NULL);
INSERT INTO public.scratch_cells VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '3b4a5e6c-b59b-4b41-b5a3-208134fc1cd3', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 2, 'txt', false, NULL, NULL, '[]', 1, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, 0, 0, 0, '', NULL);
INSERT INTO public.scratch_cells VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'eceb8438-24f6-4cdf-9d31-e827af7d7c4c', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e02', 0, 'txt', false, NULL, NULL, '[]', 1, '283bb9deef02e6843abfb538efa1eca70801bd8a701c3f98191e123496339247', 4, 4, 1, 1, 'gone', NULL);


--
-- Data for Name: scratch_contents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_contents VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03', '[1]
');
INSERT INTO public.scratch_contents VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '357b07e2-23c6-4df0-90b1-51aa47c88a32', '# Walrus

camelCase und Straße
');
INSERT INTO public.scratch_contents VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '3b4a5e6c-b59b-4b41-b5a3-208134fc1cd3', '');
INSERT INTO public.scratch_contents VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'eceb8438-24f6-4cdf-9d31-e827af7d7c4c', 'gone');


--
-- Data for Name: scratch_namespaces; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_namespaces VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'größe', '2026-11-28 12:56:26.540785+05:45');
INSERT INTO public.scratch_namespaces VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'default', '2026-11-28 12:56:26.635618+05:45');
INSERT INTO public.scratch_namespaces VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'empty', '2026-11-28 12:56:26.784528+05:45');


--
-- Data for Name: scratch_pad_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_pad_tags VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'home');
INSERT INTO public.scratch_pad_tags VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', '日本');


--
-- Data for Name: scratch_pads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_pads VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'größe', '["home","日本"]', '{"title":"Żółć 😀","kept":[1,null,{"deep":true}]}', 'żółć 😀', 3, '2026-11-28 12:56:26.540785+05:45', '2026-11-28 12:56:26.540785+05:45', 1, NULL);
INSERT INTO public.scratch_pads VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e02', 'default', '[]', '{}', '', 1, '2026-11-28 12:56:26.635618+05:45', '2026-11-28 12:56:26.696084+05:45', 2, '2026-11-28 12:56:26.696084+05:45');


--
-- Data for Name: scratch_schemas; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.scratch_schemas VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01', 'd3db7254-29b5-427d-a46d-220d287fc5e1', 'pair', '', '{"type":"array","minItems":2}');


--
-- Data for Name: search_filters; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_filters VALUES (1, 'namespace', 'größe', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (1, 'tags', 'home', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (1, 'tags', '日本', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (2, 'namespace', 'größe', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (2, 'tags', 'home', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (2, 'tags', 'pairs', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (2, 'tags', '日本', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (3, 'namespace', 'größe', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (3, 'tags', 'home', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (3, 'tags', '日本', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (4, 'namespace', 'größe', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (4, 'tags', 'home', '63c57f6e-6e61-470e-bbce-417e488c0dc2');
INSERT INTO public.search_filters VALUES (4, 'tags', '日本', '63c57f6e-6e61-470e-bbce-417e488c0dc2');


--
-- Data for Name: search_items; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_items VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'scratch_pad', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e01');
INSERT INTO public.search_items VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'scratch_cell', '0b5f3a52-6c1e-4c5a-9a52-1f6a3b0d7e03');
INSERT INTO public.search_items VALUES (3, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'scratch_cell', '357b07e2-23c6-4df0-90b1-51aa47c88a32');
INSERT INTO public.search_items VALUES (4, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'scratch_cell', '3b4a5e6c-b59b-4b41-b5a3-208134fc1cd3');


--
-- Data for Name: search_parts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_parts VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 1, 'scratch_pad', 0, '8413194ffa0d711c1132446f55558684', 4, NULL);
INSERT INTO public.search_parts VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 2, 'scratch_cell', 0, 'acc07b62f23f458923737c4cd4a66bd0', 1, NULL);
INSERT INTO public.search_parts VALUES (3, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 3, 'scratch_cell', 0, 'ef7deb4c325bd0655d52f0457a941318', 6, NULL);


--
-- Data for Name: search_texts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_texts VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Żółć 😀
home
日本', '''@63c57f6e6e61470ebbce417e488c0dc2'':5 ''home'':2 ''zolc'':1 ''日本'':3 ''本'':4');
INSERT INTO public.search_texts VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', '[1]
', '''1'':1 ''@63c57f6e6e61470ebbce417e488c0dc2'':2');
INSERT INTO public.search_texts VALUES (3, '63c57f6e-6e61-470e-bbce-417e488c0dc2', '# Walrus

camelCase und Straße
', '''@63c57f6e6e61470ebbce417e488c0dc2'':7 ''camel'':3 ''camelcas'':2 ''case'':4 ''strass'':6 ''und'':5 ''walru'':1');


--
-- Data for Name: search_vectors; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_whole_parts; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: search_wholes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.search_wholes VALUES (1, '63c57f6e-6e61-470e-bbce-417e488c0dc2', false, '''@63c57f6e6e61470ebbce417e488c0dc2'':6 ''a'':2 ''and'':4 ''shelf'':1 ''walru'':3 ''zolc'':5');
INSERT INTO public.search_wholes VALUES (2, '63c57f6e-6e61-470e-bbce-417e488c0dc2', false, '''0'':3 ''1'':6 ''10'':33 ''11'':36 ''12'':39 ''13'':42 ''14'':45 ''15'':48 ''16'':51 ''17'':54 ''18'':57 ''19'':60 ''2'':9 ''20'':63 ''21'':66 ''22'':69 ''23'':72 ''24'':75 ''25'':78 ''26'':81 ''27'':84 ''28'':87 ''29'':90 ''3'':12 ''30'':93 ''31'':96 ''32'':99 ''33'':102 ''34'':105 ''35'':108 ''36'':111 ''37'':114 ''38'':117 ''39'':120 ''4'':15 ''40'':123 ''41'':126 ''42'':129 ''43'':132 ''44'':135 ''45'':138 ''46'':141 ''47'':144 ''48'':147 ''49'':150 ''5'':18 ''50'':153 ''51'':156 ''52'':159 ''53'':162 ''54'':165 ''55'':168 ''56'':171 ''57'':174 ''58'':177 ''59'':180 ''6'':21 ''60'':183 ''61'':186 ''62'':189 ''63'':192 ''64'':195 ''65'':198 ''66'':201 ''67'':204 ''68'':207 ''69'':210 ''7'':24 ''70'':213 ''71'':216 ''72'':219 ''73'':222 ''74'':225 ''75'':228 ''76'':231 ''77'':234 ''78'':237 ''79'':240 ''8'':27 ''80'':243 ''81'':246 ''82'':249 ''83'':252 ''84'':255 ''85'':258 ''86'':261 ''87'':264 ''88'':267 ''89'':270 ''9'':30 ''90'':273 ''91'':276 ''92'':279 ''93'':282 ''94'':285 ''95'':288 ''96'':291 ''97'':294 ''98'':297 ''99'':300 ''@63c57f6e6e61470ebbce417e488c0dc2'':301 ''w'':2,5,8,11,14,17,20,23,26,29,32,35,38,41,44,47,50,53,56,59,62,65,68,71,74,77,80,83,86,89,92,95,98,101,104,107,110,113,116,119,122,125,128,131,134,137,140,143,146,149,152,155,158,161,164,167,170,173,176,179,182,185,188,191,194,197,200,203,206,209,212,215,218,221,224,227,230,233,236,239,242,245,248,251,254,257,260,263,266,269,272,275,278,281,284,287,290,293,296,299 ''w0'':1 ''w1'':4 ''w10'':31 ''w11'':34 ''w12'':37 ''w13'':40 ''w14'':43 ''w15'':46 ''w16'':49 ''w17'':52 ''w18'':55 ''w19'':58 ''w2'':7 ''w20'':61 ''w21'':64 ''w22'':67 ''w23'':70 ''w24'':73 ''w25'':76 ''w26'':79 ''w27'':82 ''w28'':85 ''w29'':88 ''w3'':10 ''w30'':91 ''w31'':94 ''w32'':97 ''w33'':100 ''w34'':103 ''w35'':106 ''w36'':109 ''w37'':112 ''w38'':115 ''w39'':118 ''w4'':13 ''w40'':121 ''w41'':124 ''w42'':127 ''w43'':130 ''w44'':133 ''w45'':136 ''w46'':139 ''w47'':142 ''w48'':145 ''w49'':148 ''w5'':16 ''w50'':151 ''w51'':154 ''w52'':157 ''w53'':160 ''w54'':163 ''w55'':166 ''w56'':169 ''w57'':172 ''w58'':175 ''w59'':178 ''w6'':19 ''w60'':181 ''w61'':184 ''w62'':187 ''w63'':190 ''w64'':193 ''w65'':196 ''w66'':199 ''w67'':202 ''w68'':205 ''w69'':208 ''w7'':22 ''w70'':211 ''w71'':214 ''w72'':217 ''w73'':220 ''w74'':223 ''w75'':226 ''w76'':229 ''w77'':232 ''w78'':235 ''w79'':238 ''w8'':25 ''w80'':241 ''w81'':244 ''w82'':247 ''w83'':250 ''w84'':253 ''w85'':256 ''w86'':259 ''w87'':262 ''w88'':265 ''w89'':268 ''w9'':28 ''w90'':271 ''w91'':274 ''w92'':277 ''w93'':280 ''w94'':283 ''w95'':286 ''w96'':289 ''w97'':292 ''w98'':295 ''w99'':298');


--
-- Data for Name: task_blockers; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: task_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.task_tags VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'de40bfdb-a6d3-4a3a-b4fd-2083994d220f', 'größe');
INSERT INTO public.task_tags VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'de40bfdb-a6d3-4a3a-b4fd-2083994d220f', 'home');


--
-- Data for Name: tasks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tasks VALUES ('ab3d122e-fbf8-4d20-8085-2800ef975e1b', '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Water the plants', NULL, 'pending', '2026-11-28 12:56:26.358123+05:45', '2026-11-28 12:56:26.358123+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('d93a91f1-7934-464f-84f9-72b9ffb36a51', '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Żółć 😀', 'Ein Satz.
Und noch einer.', 'pending', '2026-11-28 12:56:26.453529+05:45', '2026-11-28 12:56:26.453529+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('ff023fa9-c4bf-46d0-8187-165e0b12613b', '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Pay the rent', NULL, 'pending', '2026-11-28 12:56:26.496021+05:45', '2026-11-28 12:56:26.496021+05:45', 1, 0, '2026-02-01 13:45:00+05:45', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('de40bfdb-a6d3-4a3a-b4fd-2083994d220f', '63c57f6e-6e61-470e-bbce-417e488c0dc2', 'Pack', NULL, 'completed', '2026-11-28 12:56:26.516331+05:45', '2026-11-28 12:56:26.929599+05:45', 2, NULL, NULL, NULL, '["rolltop://note/1"]', NULL, NULL, NULL);


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES ('63c57f6e-6e61-470e-bbce-417e488c0dc2', 'default@localhost', NULL, '2026-11-28 12:56:26.204129+05:45', NULL);


--
-- Name: search_items_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_items_id_seq', 6, true);


--
-- Name: search_parts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_parts_id_seq', 4, true);


--
-- Name: search_vectors_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_vectors_id_seq', 1, false);


--
-- Name: search_wholes_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.search_wholes_id_seq', 2, true);


--
-- Name: access_tokens pk_access_tokens; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT pk_access_tokens PRIMARY KEY (id);


--
-- Name: note_accounts pk_note_accounts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_accounts
    ADD CONSTRAINT pk_note_accounts PRIMARY KEY (user_id, account);


--
-- Name: note_tags pk_note_tags; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_tags
    ADD CONSTRAINT pk_note_tags PRIMARY KEY (number, tag);


--
-- Name: note_texts pk_note_texts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT pk_note_texts PRIMARY KEY (number);


--
-- Name: note_versions pk_note_versions; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_versions
    ADD CONSTRAINT pk_note_versions PRIMARY KEY (user_id, account, note_id, local_version);


--
-- Name: notes pk_notes; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT pk_notes PRIMARY KEY (number);


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
-- Name: search_whole_parts pk_search_whole_parts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_whole_parts
    ADD CONSTRAINT pk_search_whole_parts PRIMARY KEY (whole_id, part);


--
-- Name: search_wholes pk_search_wholes; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_wholes
    ADD CONSTRAINT pk_search_wholes PRIMARY KEY (id);


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
-- Name: ix_note_tags_user_id_tag_number; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_note_tags_user_id_tag_number ON public.note_tags USING btree (user_id, tag, number);


--
-- Name: ix_note_versions_gone_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_note_versions_gone_at ON public.note_versions USING btree (gone_at);


--
-- Name: ix_notes_user_id_account_id; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX ix_notes_user_id_account_id ON public.notes USING btree (user_id, account, id);


--
-- Name: ix_notes_user_id_account_modified_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_notes_user_id_account_modified_id ON public.notes USING btree (user_id, account, modified, id);


--
-- Name: ix_notes_user_id_account_sync_state; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_notes_user_id_account_sync_state ON public.notes USING btree (user_id, account, sync_state);


--
-- Name: ix_notes_user_id_account_trash_created_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_notes_user_id_account_trash_created_id ON public.notes USING btree (user_id, account, trash, created, id);


--
-- Name: ix_notes_user_id_account_trash_modified_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_notes_user_id_account_trash_modified_id ON public.notes USING btree (user_id, account, trash, modified, id);


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

CREATE INDEX ix_search_texts_words ON public.search_texts USING gin (words) WITH (fastupdate=off);


--
-- Name: ix_search_vectors_part_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_vectors_part_id ON public.search_vectors USING btree (part_id);


--
-- Name: ix_search_vectors_user_id_embedding_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_vectors_user_id_embedding_id ON public.search_vectors USING btree (user_id, embedding, id);


--
-- Name: ix_search_whole_parts_words; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_whole_parts_words ON public.search_whole_parts USING gin (words) WITH (fastupdate=off);


--
-- Name: ix_search_wholes_user_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_wholes_user_id ON public.search_wholes USING btree (user_id) WHERE is_long;


--
-- Name: ix_search_wholes_words; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_search_wholes_words ON public.search_wholes USING gin (words) WITH (fastupdate=off);


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

CREATE INDEX ix_tasks_deleted_at ON public.tasks USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);


--
-- Name: ix_tasks_next; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tasks_next ON public.tasks USING btree (user_id, COALESCE(priority, 5), ((due_at IS NULL)), due_at, created_at, id) WHERE (((status)::text = 'pending'::text) AND (deleted_at IS NULL));


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
-- Name: note_accounts fk_note_accounts_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_accounts
    ADD CONSTRAINT fk_note_accounts_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: note_tags fk_note_tags_number; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_tags
    ADD CONSTRAINT fk_note_tags_number FOREIGN KEY (number) REFERENCES public.notes(number) ON DELETE CASCADE;


--
-- Name: note_texts fk_note_texts_number; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_texts
    ADD CONSTRAINT fk_note_texts_number FOREIGN KEY (number) REFERENCES public.notes(number) ON DELETE CASCADE;


--
-- Name: note_versions fk_note_versions_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.note_versions
    ADD CONSTRAINT fk_note_versions_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: notes fk_notes_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT fk_notes_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


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
-- Name: search_whole_parts fk_search_whole_parts_whole_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_whole_parts
    ADD CONSTRAINT fk_search_whole_parts_whole_id FOREIGN KEY (whole_id) REFERENCES public.search_wholes(id) ON DELETE CASCADE;


--
-- Name: search_wholes fk_search_wholes_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.search_wholes
    ADD CONSTRAINT fk_search_wholes_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


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


