-- The hot tables of the real layout. %PARTITION% is "PARTITION BY RANGE (id)" or nothing.
DROP SCHEMA IF EXISTS proto CASCADE;
CREATE SCHEMA proto;
SET search_path = proto;

CREATE TABLE job (
	id uuid PRIMARY KEY, lane int NOT NULL, attempt int NOT NULL, max_attempts int NOT NULL, lease int NOT NULL,
	codec smallint NOT NULL, unique_states smallint,
	run_at bigint NOT NULL, created_at bigint NOT NULL,
	args bytea NOT NULL, options json, tags json, metadata json, ordering_key text, unique_key bytea
) %PARTITION%;
CREATE TABLE ready (lane int NOT NULL, run_at bigint NOT NULL, id uuid NOT NULL, PRIMARY KEY (lane, run_at, id));
CREATE TABLE deferred (due bigint NOT NULL, id uuid NOT NULL, lane int NOT NULL, state smallint NOT NULL, ordering_key text, PRIMARY KEY (due, id));
CREATE TABLE node (id int PRIMARY KEY, beat_at bigint NOT NULL, dead_at bigint);
CREATE TABLE claim (
	node int NOT NULL, seq bigint NOT NULL, claimed_at bigint NOT NULL, done bigint NOT NULL, all_slots bigint NOT NULL, ids uuid[] NOT NULL,
	PRIMARY KEY (node, seq)
) WITH (fillfactor = 70);
CREATE TABLE finished (
	id uuid PRIMARY KEY, lane int NOT NULL, state smallint NOT NULL, attempt int NOT NULL, lease int NOT NULL, node int NOT NULL,
	claimed_at bigint NOT NULL, finished_at bigint NOT NULL, reason text, result bytea, error text
) %PARTITION%;
CREATE INDEX finished_not_completed ON finished (state, id) WHERE state <> 1;
INSERT INTO node SELECT n, 0, NULL FROM generate_series(1, 16) n;
