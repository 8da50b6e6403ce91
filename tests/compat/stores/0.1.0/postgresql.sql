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
-- Data for Name: access_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.access_tokens VALUES ('f8b69695-e1ae-4468-a8ca-ca17f35d0045', 'e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'laptop', 'b69a5841a851ac106001b3d20634d8dd76665adbb31988d9f6647ebf777e2eb6', true, '2026-11-22 05:22:13.552783+05:45', NULL, NULL, NULL);


--
-- Data for Name: reader_outlines; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: rolltop_versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.rolltop_versions VALUES ('core_0001');
INSERT INTO public.rolltop_versions VALUES ('reader_0001');
INSERT INTO public.rolltop_versions VALUES ('tasks_0001');


--
-- Data for Name: task_blockers; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: task_tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.task_tags VALUES ('e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', '88788936-b758-4902-93e2-f64b6a2adef6', 'größe');
INSERT INTO public.task_tags VALUES ('e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', '88788936-b758-4902-93e2-f64b6a2adef6', 'home');


--
-- Data for Name: tasks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tasks VALUES ('0fd5faaf-cf47-4ebd-acfb-6183383508d9', 'e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'Water the plants', NULL, 'pending', '2026-11-22 05:22:13.424425+05:45', '2026-11-22 05:22:13.424425+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('e6e5e6cc-6cdd-4d7c-b614-3fe90a4ca735', 'e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'Żółć 😀', 'Ein Satz.
Und noch einer.', 'pending', '2026-11-22 05:22:13.449405+05:45', '2026-11-22 05:22:13.449405+05:45', 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('5a621b5a-0139-4566-85dc-5c2de505be70', 'e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'Pay the rent', NULL, 'pending', '2026-11-22 05:22:13.465228+05:45', '2026-11-22 05:22:13.465228+05:45', 1, 0, '2026-02-01 13:45:00+05:45', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tasks VALUES ('88788936-b758-4902-93e2-f64b6a2adef6', 'e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'Pack', NULL, 'completed', '2026-11-22 05:22:13.487564+05:45', '2026-11-22 05:22:13.53223+05:45', 2, NULL, NULL, NULL, '["rolltop://note/1"]', NULL, NULL, NULL);


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES ('e6e41427-fb97-4c69-9c2f-e6d25e8bf1b2', 'default@localhost', NULL, '2026-11-22 05:22:13.400555+05:45', NULL);


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


