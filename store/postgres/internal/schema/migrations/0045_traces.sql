-- Traces: messages carry the header traceparent of W3C Trace Context of the span in which they were sent, and the function enqueue has
-- parameters for the headers that a job carries. The column is null for messages that were sent in no trace, and costs nothing for those that
-- are there; programs that do not know it send messages without one. The function replaces that of migration 15, whose parts stay as they were.
ALTER TABLE {schema}.inbox ADD COLUMN trace text;

SET check_function_bodies = off; -- they name each other without the schema

DROP FUNCTION {schema}.enqueue(
  text, anycompatible, text, text, int, timestamptz, interval, int, interval, timestamptz, interval, interval,
  text[], anycompatible, text, text[], text[], interval, text, text[], text, uuid, text, interval
);

-- Headers of a trace: of so many bytes at most, and only of printable ASCII, as store.Options.CheckTrace says. NULL is none.
CREATE FUNCTION {schema}.check_header(header text, value text, bytes int) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF octet_length(value) > bytes THEN
    PERFORM refuse_invalid(header, octet_length(value) || ' bytes exceed the limit of ' || bytes);
  ELSIF value ~ '[^ -~]' THEN
    PERFORM refuse_invalid(header, quoted(value) || ' is no header: it has other characters than printable ASCII');
  END IF;
END $$;

-- The settings of a job, JSON or NULL, with the headers of a trace, of which NULL and '' are none.
CREATE FUNCTION {schema}.options_with_trace(options text, traceparent text, tracestate text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  list text;
BEGIN
  IF traceparent <> '' THEN
    list := '"traceparent":' || json_string(traceparent);
  END IF;
  IF tracestate <> '' THEN
    list := concat_ws(',', list, '"tracestate":' || json_string(tracestate));
  END IF;
  IF list IS NULL THEN
    RETURN options;
  END IF;
  RETURN concat(coalesce(left(options, -1) || ',', '{'), list, '}');
END $$;

-- The function for users. Of parameters that are NULL the default holds. args and metadata are of one type: text that is JSON, json or jsonb;
-- text and json are stored as they are written. The settings keep its statements to indexes, also where the tables were small when the
-- statements were planned.
--
-- Jobs that are enqueued by one statement have one time, as those of one call of the library have: that of the statement or, in a procedure that
-- has begun another transaction since, of that.
--
-- It checks what it was given, in the order of the parameters, completes the body, finds the lane, and then stores the job. What is in the way,
-- the same id, the unique key or the business key, it takes for the answer. If another transaction lets go of that in between, it tries again.
CREATE FUNCTION {schema}.enqueue(
  kind text, args anycompatible DEFAULT NULL, namespace text DEFAULT 'default', queue text DEFAULT 'default', priority int DEFAULT 2,
  run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, max_attempts int DEFAULT NULL,
  timeout interval DEFAULT NULL, deadline timestamptz DEFAULT NULL, backoff interval DEFAULT NULL, backoff_limit interval DEFAULT NULL,
  tags text[] DEFAULT NULL, metadata anycompatible DEFAULT NULL, ordering_key text DEFAULT NULL,
  unique_by text[] DEFAULT NULL, unique_fields text[] DEFAULT NULL, unique_period interval DEFAULT NULL, unique_key text DEFAULT NULL,
  unique_while text[] DEFAULT NULL, on_conflict text DEFAULT NULL, job_id uuid DEFAULT NULL,
  key text DEFAULT NULL, keep_key interval DEFAULT NULL, traceparent text DEFAULT NULL, tracestate text DEFAULT NULL,
  OUT id uuid, OUT existing boolean, OUT replaced boolean, OUT differs boolean
) LANGUAGE plpgsql
SET search_path = {schema}, pg_temp SET standard_conforming_strings = on
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  began      timestamptz := greatest(statement_timestamp(), transaction_timestamp());
  args_text  text := coalesce(args::text, 'null');
  about_text text := metadata::text;
  is_unique  boolean := num_nonnulls(unique_by, unique_fields, unique_period, unique_key, unique_while) > 0;
  body       job;
  keep       bigint;
  hash       bytea;
  place      record;
  taking     record;
BEGIN
  namespace := coalesce(namespace, 'default');
  queue := coalesce(queue, 'default');
  priority := coalesce(priority, 2);
  PERFORM check_encoding(), check_name('namespace', namespace), check_kind(kind), check_name('queue', queue);
  IF priority NOT BETWEEN 1 AND 4 THEN
    PERFORM refuse_invalid('priority', priority || ' is not between 1 (most urgent) and 4');
  ELSIF run_at IS NOT NULL AND delay IS NOT NULL THEN
    PERFORM refuse_invalid('run_at', 'give it or a delay, not both');
  ELSIF max_attempts NOT BETWEEN 1 AND 1000 THEN
    PERFORM refuse_invalid('max attempts', max_attempts || ' is not between 1 and 1000');
  END IF;
  deadline := nullif(deadline, '0001-01-01 00:00:00+00');
  body.options := options_of(timeout, deadline, backoff, backoff_limit);
  body.tags := tags_of(tags);
  PERFORM check_metadata(about_text);
  IF ordering_key IS NOT NULL THEN
    PERFORM check_name('ordering key', ordering_key, true);
  END IF;
  PERFORM check_key(key);
  PERFORM check_header('traceparent', traceparent, 128), check_header('tracestate', tracestate, 512);
  PERFORM check_unique(unique_by, unique_fields, unique_period, unique_key, on_conflict);
  IF on_conflict IS NOT NULL AND NOT is_unique THEN
    PERFORM refuse_invalid('unique', 'on_conflict needs what makes the job unique, such as unique_by');
  ELSIF substr(job_id::text, 15, 1) <> '7' THEN
    PERFORM refuse_invalid('id', job_id || ' is not a UUIDv7; leave job_id out to have one made');
  END IF;
  PERFORM check_json('args', args_text, 1048576);

  body.id := coalesce(job_id, new_id());
  body.created_at := micros_of(began);
  body.run_at := coalesce(time_of(CASE WHEN delay > interval '0' THEN began + delay ELSE run_at END, body.id), body.created_at);
  IF time_of(deadline, body.id) <= body.run_at THEN
    PERFORM refuse_invalid('deadline', to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' is not after the run time');
  END IF;
  IF key IS NOT NULL THEN
    IF is_unique THEN
      PERFORM refuse_invalid('key', 'a job with a business key cannot have the option Unique, too');
    END IF;
    keep := kept_for(keep_key);
    body.options := options_with_key(body.options::text, key, keep);
    hash := hash_of_args(args_text);
  END IF;
  body.options := options_with_trace(body.options::text, traceparent, tracestate);
  body.max_attempts := coalesce(max_attempts, 0);
  body.args := convert_to(args_text, 'UTF8');
  body.metadata := about_text;
  body.ordering_key := ordering_key;
  IF is_unique THEN
    body.unique_key := unique_key_of(namespace, kind, queue, args_text, body.run_at, unique_by, unique_fields, unique_period, unique_key);
    body.unique_states := states_of(unique_while);
  END IF;
  place := lane_for(namespace, queue, kind, priority, body.created_at);
  body.lane := place.lane_id;

  existing := true;
  replaced := false;
  differs := false;
  FOR try IN 1..4 LOOP
    id := known_job(job_id, namespace);
    EXIT WHEN id IS NOT NULL;
    IF key IS NULL THEN
      taking := take_key(body.unique_key, body.id);
    ELSE
      taking := take_business_key(namespace, kind, key, keep, hash, body.id, body.created_at);
    END IF;
    IF NOT taking.taken THEN
      id := taking.holder;
      IF id IS NOT NULL AND key IS NOT NULL THEN
        differs := taking.differs;
      END IF;
      EXIT WHEN id IS NOT NULL;
    ELSIF store_job(body, namespace, queue, place.queue_id, priority) THEN
      id := body.id;
      existing := false;
      RETURN;
    ELSIF key IS NULL THEN -- another transaction has stored the id meanwhile
      PERFORM leave_key(body.unique_key, body.id);
    ELSE
      PERFORM leave_business_key(namespace, kind, key, body.id, taking.before);
    END IF;
  END LOOP;
  IF id IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
      MESSAGE = format('holdfast: database unavailable: another transaction holds the lock: the %s of job %s is changing hands',
        CASE WHEN key IS NULL THEN 'unique key' ELSE 'key' END, body.id);
  ELSIF id <> body.id AND on_conflict = 'reject' THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = 'holdfast: conflict: its unique key is held by job ' || id;
  ELSIF id <> body.id AND on_conflict = 'replace' THEN
    replaced := replace_job(id, body);
  END IF;
END $$;

RESET check_function_bodies;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (45, 'traces', {schema}.clock(NULL), 36);
