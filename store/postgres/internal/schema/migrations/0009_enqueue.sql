-- Enqueue from SQL: the function enqueue, in the transaction of its caller, from any language. It refuses what the library refuses, in the
-- same words, makes the same rows, unique keys of the same bytes, and the same notifications. The functions before it are its parts; they find
-- each other, and the tables, because enqueue sets the search path. Its rights are those of its caller.

SET check_function_bodies = off; -- they name each other without the schema

-- Days on which transactions of callers have put jobs into lanes, which the leader adds to the lanes themselves. A caller's transaction may stay
-- open, and so locks no lane: it only adds rows here.
CREATE TABLE {schema}.lane_use (
  lane int NOT NULL,
  day  int NOT NULL
);
CREATE INDEX lane_use_lane ON {schema}.lane_use (lane, day);

-- Ends the statement with the library's ErrInvalid.
CREATE FUNCTION {schema}.refuse_invalid(what text, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'holdfast: invalid request: ' || what || ': ' || why;
END $$;

-- Microseconds since 1970.
CREATE FUNCTION {schema}.micros_of(moment timestamptz) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN extract(epoch FROM moment) * 1000000;
END $$;

-- Nanoseconds, as Go counts durations. A month has 30 days, a year 365.25.
CREATE FUNCTION {schema}.nanos_of(what text, length interval) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF extract(epoch FROM length) > 9223372036 THEN
    PERFORM refuse_invalid(what, length || ' is longer than 292 years');
  END IF;
  RETURN extract(epoch FROM length) * 1000000000;
END $$;

-- A text in quotes, with escapes for what cannot be seen.
CREATE FUNCTION {schema}.quoted(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '"' || coalesce(string_agg(CASE
    WHEN c IN ('"', '\') THEN '\' || c
    WHEN ascii(c) BETWEEN 7 AND 13 THEN '\' || substr('abtnvfr', ascii(c) - 6, 1)
    WHEN ascii(c) < 32 OR ascii(c) = 127 THEN '\x' || lpad(to_hex(ascii(c)), 2, '0')
    WHEN ascii(c) > 159 AND wrong_in_name(c, false) IS NULL AND c !~ '[\u00A0\u1680\u2000-\u200F\u202F\u205F\u3000]' OR ascii(c) < 127 THEN c
    WHEN ascii(c) < 65536 THEN '\u' || lpad(to_hex(ascii(c)), 4, '0')
    ELSE '\U' || lpad(to_hex(ascii(c)), 8, '0')
  END, '' ORDER BY n), '') || '"' FROM unnest(string_to_array(value, NULL)) WITH ORDINALITY AS t (c, n)
$$;

-- The first character that a name may not have: a control character or, unless the name may be data of users, an invisible one.
CREATE FUNCTION {schema}.wrong_in_name(name text, is_data boolean) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF name !~ '[^ -~]' THEN
    RETURN NULL;
  ELSIF is_data THEN
    RETURN substring(name FROM '[\u0001-\u001F\u007F-\u009F]');
  END IF;
  RETURN substring(name FROM '[\u0001-\u001F\u007F-\u009F\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u180E\u200B\u200E\u200F\u2028-\u202E'
    '\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A'
    '\U000E0001\U000E0020-\U000E007F]');
END $$;

-- Names: not empty, of at most 200 bytes, and without wrong characters.
CREATE FUNCTION {schema}.check_name(what text, name text, is_data boolean DEFAULT false) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  wrong text;
BEGIN
  IF coalesce(name, '') = '' THEN
    PERFORM refuse_invalid(what, 'must not be empty');
  ELSIF octet_length(name) > 200 THEN
    PERFORM refuse_invalid(what, octet_length(name) || ' bytes exceed the limit of 200');
  END IF;
  wrong := wrong_in_name(name, is_data);
  IF ascii(wrong) < 160 THEN
    PERFORM refuse_invalid(what, quoted(name) || ' contains a control character');
  ELSIF wrong IS NOT NULL THEN
    PERFORM refuse_invalid(what, quoted(name) || ' contains the invisible character U+'
      || lpad(upper(to_hex(ascii(wrong))), greatest(4, length(to_hex(ascii(wrong)))), '0') || '; remove it');
  END IF;
END $$;

-- How deeply arrays and objects lie in each other, in a text that is JSON.
CREATE FUNCTION {schema}.json_depth(value text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(max(depth), 0) FROM (
    SELECT sum(CASE WHEN c IN ('[', '{') THEN 1 ELSE -1 END) OVER (ORDER BY n) AS depth
    FROM unnest(string_to_array(regexp_replace(regexp_replace(value, '"(\\.|[^"\\])*"', '', 'g'), '[^][{}]', '', 'g'), NULL))
      WITH ORDINALITY AS t (c, n)
  ) d
$$;

-- The beginning of a text, for errors: at most 60 bytes.
CREATE FUNCTION {schema}.excerpt(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  shown text := left(value, 60);
BEGIN
  IF octet_length(value) <= 60 THEN
    RETURN value;
  END IF;
  WHILE octet_length(shown) > 60 LOOP
    shown := left(shown, -1);
  END LOOP;
  RETURN shown || '…';
END $$;

-- Payloads: JSON within a limit, without NUL, and not deeper than Go reads.
CREATE FUNCTION {schema}.check_json(what text, value text, most int) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  is_json boolean := true;
BEGIN
  IF octet_length(value) > most THEN
    PERFORM refuse_invalid(what, format('%s bytes exceed the limit of %s; store large data elsewhere and pass a reference',
      octet_length(value), most));
  END IF;
  BEGIN
    PERFORM value::json;
  EXCEPTION WHEN invalid_text_representation OR statement_too_complex THEN
    is_json := false;
  END;
  IF is_json AND length(value) - length(translate(value, '[{', '')) > 10000 THEN
    is_json := json_depth(value) <= 10000;
  END IF;
  IF NOT is_json THEN
    PERFORM refuse_invalid(what, 'not valid JSON: ' || excerpt(value));
  END IF;
  IF position('\u0000' IN value) > 0 AND value ~ '(^|[^\\])(\\\\)*\\u0000' THEN
    PERFORM refuse_invalid(what, 'it contains the NUL character (\u0000)');
  END IF;
END $$;

-- JSON whose strings can be read. Half of a surrogate pair, which is no character, becomes the replacement character, as in Go.
CREATE FUNCTION {schema}.readable_json(value text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF value !~* '\\ud[89a-f]' THEN
    RETURN value;
  END IF;
  RETURN (
    SELECT string_agg(CASE WHEN length(m[1]) = 6 AND m[1] ~* '^\\ud[89a-f]' THEN '\ufffd' ELSE m[1] END, '' ORDER BY n)
    FROM regexp_matches(value, '(\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\u[[:xdigit:]]{4}|\\.|[^\\]+)', 'g')
      WITH ORDINALITY AS t (m, n)
  );
END $$;

-- A string as JSON, with the escapes that Go writes.
CREATE FUNCTION {schema}.json_string(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN replace(replace(replace(replace(replace(to_json(value)::text,
    '<', '\u003c'), '>', '\u003e'), '&', '\u0026'), chr(8232), '\u2028'), chr(8233), '\u2029');
END $$;

-- JSON with the keys of its objects sorted, without white space, and numbers as they are written. Of equal keys the last one counts. Every
-- value has a path of places, by which what is written for it is ordered: indexes and keys, which are less than ff, where its bracket closes.
CREATE FUNCTION {schema}.canonical_json(value json) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_column
DECLARE
  words text;
BEGIN
  WITH RECURSIVE node AS (
    SELECT ARRAY[]::bytea[] AS path, '' AS lead, canonical_json.value, json_typeof(canonical_json.value) AS type
    UNION ALL
    SELECT n.path || m.place, m.lead, m.value, json_typeof(m.value)
    FROM node n CROSS JOIN LATERAL (
      SELECT convert_to(o.key, 'UTF8') AS place,
        CASE WHEN row_number() OVER (ORDER BY convert_to(o.key, 'UTF8')) > 1 THEN ',' ELSE '' END || json_string(o.key) || ':' AS lead, o.value
      FROM (
        SELECT DISTINCT ON (e.key COLLATE "C") e.key, e.value
        FROM json_each(CASE n.type WHEN 'object' THEN n.value END) WITH ORDINALITY AS e (key, value, place)
        ORDER BY e.key COLLATE "C", e.place DESC
      ) o
      UNION ALL
      SELECT int8send(a.place), CASE WHEN a.place > 1 THEN ',' ELSE '' END, a.value
      FROM json_array_elements(CASE n.type WHEN 'array' THEN n.value END) WITH ORDINALITY AS a (value, place)
    ) m
  ), written AS (
    SELECT path, lead || CASE type
      WHEN 'object' THEN '{' WHEN 'array' THEN '[' WHEN 'string' THEN json_string(value #>> '{}') ELSE btrim(value::text, E' \t\n\r')
    END AS words FROM node
    UNION ALL
    SELECT path || '\xff'::bytea, CASE type WHEN 'object' THEN '}' ELSE ']' END FROM node WHERE type IN ('object', 'array')
  )
  SELECT string_agg(w.words, '' ORDER BY w.path) INTO words FROM written w;
  RETURN words;
END $$;

-- A text in which letters of either case are the same, as Go folds them: what of each letter is the least that it is folded with.
CREATE FUNCTION {schema}.folded(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(chr(ascii(c) + coalesce(f.change, 0)), '' ORDER BY n)
  FROM unnest(string_to_array(value, NULL)) WITH ORDINALITY AS t (c, n)
  LEFT JOIN (VALUES
    (97, 122, -32, 1), (224, 246, -32, 1), (248, 254, -32, 1), (257, 303, -1, 2), (307, 311, -1, 2), (314, 328, -1, 2),
    (331, 375, -1, 2), (376, 376, -121, 1), (378, 382, -1, 2), (383, 383, -300, 1), (387, 389, -1, 2), (392, 392, -1, 1),
    (396, 396, -1, 1), (402, 402, -1, 1), (409, 409, -1, 1), (417, 421, -1, 2), (424, 424, -1, 1), (429, 429, -1, 1),
    (432, 432, -1, 1), (436, 438, -1, 2), (441, 441, -1, 1), (445, 445, -1, 1), (453, 453, -1, 1), (454, 454, -2, 1),
    (456, 456, -1, 1), (457, 457, -2, 1), (459, 459, -1, 1), (460, 460, -2, 1), (462, 476, -1, 2), (477, 477, -79, 1),
    (479, 495, -1, 2), (498, 498, -1, 1), (499, 499, -2, 1), (501, 501, -1, 1), (502, 502, -97, 1), (503, 503, -56, 1),
    (505, 543, -1, 2), (544, 544, -130, 1), (547, 563, -1, 2), (572, 572, -1, 1), (573, 573, -163, 1), (578, 578, -1, 1),
    (579, 579, -195, 1), (583, 591, -1, 2), (595, 595, -210, 1), (596, 596, -206, 1), (598, 599, -205, 1), (601, 601, -202, 1),
    (603, 603, -203, 1), (608, 608, -205, 1), (611, 611, -207, 1), (616, 616, -209, 1), (617, 617, -211, 1), (623, 623, -211, 1),
    (626, 626, -213, 1), (629, 629, -214, 1), (640, 640, -218, 1), (643, 643, -218, 1), (648, 648, -218, 1), (649, 649, -69, 1),
    (650, 651, -217, 1), (652, 652, -71, 1), (658, 658, -219, 1), (881, 883, -1, 2), (887, 887, -1, 1), (921, 921, -84, 1),
    (924, 924, -743, 1), (940, 940, -38, 1), (941, 943, -37, 1), (945, 952, -32, 1), (953, 953, -116, 1), (954, 955, -32, 1),
    (956, 956, -775, 1), (957, 961, -32, 1), (962, 962, -31, 1), (963, 971, -32, 1), (972, 972, -64, 1), (973, 974, -63, 1),
    (976, 976, -62, 1), (977, 977, -57, 1), (981, 981, -47, 1), (982, 982, -54, 1), (983, 983, -8, 1), (985, 1007, -1, 2),
    (1008, 1008, -86, 1), (1009, 1009, -80, 1), (1011, 1011, -116, 1), (1012, 1012, -92, 1), (1013, 1013, -96, 1),
    (1016, 1016, -1, 1), (1017, 1017, -7, 1), (1019, 1019, -1, 1), (1021, 1023, -130, 1), (1072, 1103, -32, 1),
    (1104, 1119, -80, 1), (1121, 1153, -1, 2), (1163, 1215, -1, 2), (1218, 1230, -1, 2), (1231, 1231, -15, 1), (1233, 1327, -1, 2),
    (1377, 1414, -48, 1), (5112, 5117, -8, 1), (7296, 7296, -6254, 1), (7297, 7297, -6253, 1), (7298, 7298, -6244, 1),
    (7299, 7300, -6242, 1), (7301, 7301, -6243, 1), (7302, 7302, -6236, 1), (7303, 7303, -6181, 1), (7312, 7354, -3008, 1),
    (7357, 7359, -3008, 1), (7681, 7829, -1, 2), (7835, 7835, -59, 1), (7838, 7838, -7615, 1), (7841, 7935, -1, 2),
    (7944, 7951, -8, 1), (7960, 7965, -8, 1), (7976, 7983, -8, 1), (7992, 7999, -8, 1), (8008, 8013, -8, 1), (8025, 8031, -8, 2),
    (8040, 8047, -8, 1), (8072, 8079, -8, 1), (8088, 8095, -8, 1), (8104, 8111, -8, 1), (8120, 8121, -8, 1), (8122, 8123, -74, 1),
    (8124, 8124, -9, 1), (8126, 8126, -7289, 1), (8136, 8139, -86, 1), (8140, 8140, -9, 1), (8152, 8153, -8, 1),
    (8154, 8155, -100, 1), (8168, 8169, -8, 1), (8170, 8171, -112, 1), (8172, 8172, -7, 1), (8184, 8185, -128, 1),
    (8186, 8187, -126, 1), (8188, 8188, -9, 1), (8486, 8486, -7549, 1), (8490, 8490, -8415, 1), (8491, 8491, -8294, 1),
    (8526, 8526, -28, 1), (8560, 8575, -16, 1), (8580, 8580, -1, 1), (9424, 9449, -26, 1), (11312, 11359, -48, 1),
    (11361, 11361, -1, 1), (11362, 11362, -10743, 1), (11363, 11363, -3814, 1), (11364, 11364, -10727, 1),
    (11365, 11365, -10795, 1), (11366, 11366, -10792, 1), (11368, 11372, -1, 2), (11373, 11373, -10780, 1),
    (11374, 11374, -10749, 1), (11375, 11375, -10783, 1), (11376, 11376, -10782, 1), (11379, 11379, -1, 1), (11382, 11382, -1, 1),
    (11390, 11391, -10815, 1), (11393, 11491, -1, 2), (11500, 11502, -1, 2), (11507, 11507, -1, 1), (11520, 11557, -7264, 1),
    (11559, 11559, -7264, 1), (11565, 11565, -7264, 1), (42561, 42569, -1, 2), (42570, 42570, -35266, 1), (42571, 42571, -35267, 1),
    (42573, 42605, -1, 2), (42625, 42651, -1, 2), (42787, 42799, -1, 2), (42803, 42863, -1, 2), (42874, 42876, -1, 2),
    (42877, 42877, -35332, 1), (42879, 42887, -1, 2), (42892, 42892, -1, 1), (42893, 42893, -42280, 1), (42897, 42899, -1, 2),
    (42903, 42921, -1, 2), (42922, 42922, -42308, 1), (42923, 42923, -42319, 1), (42924, 42924, -42315, 1),
    (42925, 42925, -42305, 1), (42926, 42926, -42308, 1), (42928, 42928, -42258, 1), (42929, 42929, -42282, 1),
    (42930, 42930, -42261, 1), (42933, 42947, -1, 2), (42948, 42948, -48, 1), (42949, 42949, -42307, 1), (42950, 42950, -35384, 1),
    (42952, 42954, -1, 2), (42961, 42961, -1, 1), (42967, 42969, -1, 2), (42998, 42998, -1, 1), (43859, 43859, -928, 1),
    (43888, 43967, -38864, 1), (65345, 65370, -32, 1), (66600, 66639, -40, 1), (66776, 66811, -40, 1), (66967, 66977, -39, 1),
    (66979, 66993, -39, 1), (66995, 67001, -39, 1), (67003, 67004, -39, 1), (68800, 68850, -64, 1), (71872, 71903, -32, 1),
    (93792, 93823, -32, 1), (125218, 125251, -34, 1)
  ) AS f (first, last, change, step) ON ascii(c) BETWEEN f.first AND f.last AND (ascii(c) - f.first) % f.step = 0
$$;

-- The field of args that a path such as address.city names; null if it is not there.
CREATE FUNCTION {schema}.field_of(value json, path text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  part  text;
  found_value json;
  other text;
BEGIN
  FOREACH part IN ARRAY string_to_array(path, '.') LOOP
    IF json_typeof(value) <> 'object' THEN
      RETURN 'null';
    END IF;
    SELECT e.value INTO found_value FROM json_each(value) WITH ORDINALITY AS e (key, value, place)
    WHERE e.key COLLATE "C" = part ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
      SELECT k INTO other FROM json_object_keys(value) AS k WHERE folded(k) COLLATE "C" = folded(part) LIMIT 1;
      IF FOUND THEN
        PERFORM refuse_invalid('unique', format('the args have no field %s, but %s', quoted(part), quoted(other)));
      END IF;
      found_value := 'null';
    END IF;
    value := found_value;
  END LOOP;
  RETURN value;
END $$;

-- A part of a unique key: its name and its value, each with its length before it.
CREATE FUNCTION {schema}.key_part(name text, value bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN int8send(octet_length(name)) || convert_to(name, 'UTF8') || int8send(octet_length(value)) || value;
END $$;

-- The unique key of a job: the same bytes as the library computes.
CREATE FUNCTION {schema}.unique_key_of(
  namespace text, kind text, queue text, args text, run_at bigint, by text[], fields text[], period interval, key text
) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name   text;
  hashed bytea := key_part('namespace', convert_to(namespace, 'UTF8'));
BEGIN
  IF coalesce(key, '') <> '' THEN
    hashed := hashed || key_part('key', convert_to(key, 'UTF8'));
  ELSE
    hashed := hashed || key_part('kind', convert_to(kind, 'UTF8'));
  END IF;
  IF 'queue' = ANY (by) THEN
    hashed := hashed || key_part('queue', convert_to(queue, 'UTF8'));
  END IF;
  IF 'args' = ANY (by) THEN
    hashed := hashed || key_part('args', convert_to(canonical_json(readable_json(args)), 'UTF8'));
  END IF;
  FOR name IN SELECT DISTINCT f COLLATE "C" FROM unnest(fields) AS f ORDER BY f COLLATE "C" LOOP
    hashed := hashed || key_part('field ' || name, convert_to(canonical_json(field_of(readable_json(args), name)), 'UTF8'));
  END LOOP;
  IF period > interval '0' THEN
    hashed := hashed || key_part('period', int8send(run_at / (nanos_of('unique_period', period) / 1000)));
  END IF;
  RETURN substring(sha256(hashed) FROM 1 FOR 16);
END $$;

-- The set of states in which a job holds its unique key, as store.StateSet: those given, and scheduled and available, or all that are not
-- finished.
CREATE FUNCTION {schema}.states_of(names text[]) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name  text;
  found int;
  bits  int := 6;
BEGIN
  IF coalesce(cardinality(names), 0) = 0 THEN
    RETURN 62;
  END IF;
  FOREACH name IN ARRAY names LOOP
    found := array_position(ARRAY['scheduled', 'available', 'running', 'retryable', 'waiting', 'completed', 'failed', 'cancelled'], name);
    IF found IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = 'holdfast: invalid request: unknown state ' || quoted(coalesce(name, ''));
    END IF;
    bits := bits | (1 << found);
  END LOOP;
  RETURN bits;
END $$;

-- The settings of a job as they are stored, JSON or NULL.
CREATE FUNCTION {schema}.options_of(timeout interval, deadline timestamptz, backoff interval, backoff_limit interval)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  list text;
BEGIN
  IF timeout IS NOT NULL THEN
    IF timeout <= interval '0' THEN
      PERFORM refuse_invalid('timeout', timeout || ' is not positive');
    END IF;
    list := '"timeout":' || nanos_of('timeout', timeout);
  END IF;
  IF deadline IS NOT NULL THEN
    list := concat_ws(',', list, '"deadline":"'
      || rtrim(rtrim(to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z"');
  END IF;
  IF backoff IS NOT NULL OR backoff_limit IS NOT NULL THEN
    backoff := coalesce(backoff, interval '1 second');
    backoff_limit := coalesce(backoff_limit, greatest(backoff, interval '1 hour'));
    IF backoff <= interval '0' OR backoff_limit < backoff THEN
      PERFORM refuse_invalid('backoff',
        format('base %s and limit %s: both must be positive, and the limit not below the base', backoff, backoff_limit));
    END IF;
    list := concat_ws(',', list, format('"backoff":{"base":%s,"cap":%s,"jitter":0.25}',
      nanos_of('backoff', backoff), nanos_of('backoff_limit', backoff_limit)));
  END IF;
  RETURN '{' || list || '}';
END $$;

-- The lane of a job and its queue; they are made if they do not exist. What is there is not changed: others would wait until this transaction
-- ends. That the lane is used on this day is noted instead, and until this transaction ends nothing removes the lane. Lanes and queues that
-- others are making in transactions of theirs are waited for.
CREATE FUNCTION {schema}.lane_for(
  in_namespace text, in_queue text, of_kind text, of_priority int, moment bigint, OUT lane_id int, OUT queue_id int
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  today   int := clock(NULL) / 86400000000;
  is_used boolean;
BEGIN
  LOOP
    SELECT l.id, q.id, l.used_on >= today AND q.created_at IS NOT NULL INTO lane_id, queue_id, is_used
    FROM queue q JOIN lane l ON l.queue = q.id
    WHERE q.namespace = in_namespace AND q.name = in_queue AND l.kind = of_kind AND l.priority = of_priority;
    IF is_used THEN
      RETURN;
    ELSIF is_used IS NULL THEN
      INSERT INTO queue (namespace, name, created_at) VALUES (in_namespace, in_queue, moment) ON CONFLICT (namespace, name) DO NOTHING;
      INSERT INTO lane (queue, kind, priority, used_on)
      SELECT q.id, of_kind, of_priority, today FROM queue q WHERE q.namespace = in_namespace AND q.name = in_queue
      ON CONFLICT (queue, kind, priority) DO NOTHING;
      CONTINUE;
    END IF;
    PERFORM 1 FROM lane l WHERE l.id = lane_id FOR KEY SHARE;
    IF FOUND THEN
      INSERT INTO lane_use (lane, day) SELECT lane_id, today
      WHERE NOT EXISTS (SELECT 1 FROM lane_use u WHERE u.lane = lane_id AND u.day = today);
      RETURN;
    END IF;
  END LOOP;
END $$;

-- What was last told of a sort by this transaction, and whether it was of this schema: NULL if it was not.
CREATE FUNCTION {schema}.last_told(sort text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  told text := current_setting('holdfast.' || sort, true);
BEGIN
  IF substr(told, strpos(told, ' ') + 1) = current_schema() THEN
    RETURN split_part(told, ' ', 1);
  END IF;
  RETURN NULL;
END $$;

-- Tells nodes of a job, when the transaction commits. Of one that is due they are told where in its lane it is, since their claims may be past
-- that by then; the jobs of a statement are in one place. Of what is due later the soonest counts. So a statement that enqueues many jobs says
-- little; if the places are more than a hundred, nodes are to look at everything.
CREATE FUNCTION {schema}.tell_nodes(namespace text, queue text, lane int, due_at bigint, is_ready boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  channel text := 'holdfast:' || current_schema();
  about   text := ',"n":' || to_json(namespace) || ',"q":' || to_json(queue);
  place   text := lane || ',' || due_at;
  places  int;
BEGIN
  IF is_ready THEN
    IF place = last_told('place') THEN
      RETURN;
    END IF;
    places := coalesce(last_told('places')::int, 0) + 1;
    IF places <= 100 THEN
      PERFORM pg_notify(channel, '{"k":100,"l":[[' || place || ']]}'), pg_notify(channel, '{"k":1' || about || '}');
    ELSE
      PERFORM pg_notify(channel, '{"k":0}');
    END IF;
    PERFORM set_config('holdfast.place', place || ' ' || current_schema(), true), set_config('holdfast.places', places || ' ' || current_schema(), true);
  ELSIF due_at < coalesce(last_told('soonest')::bigint, due_at + 1) THEN
    PERFORM pg_notify(channel, '{"k":2' || about || ',"d":' || due_at || '}'), set_config('holdfast.soonest', due_at || ' ' || current_schema(), true);
  END IF;
END $$;

-- Puts the payload and the run time on the job that holds a unique key, if it has not started. The body is locked first, so that the statement
-- after it sees where its pointer is. One that has the turn of its ordering key keeps it.
CREATE FUNCTION {schema}.replace_job(holder uuid, wanted {schema}.job) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moved_job record;
BEGIN
  PERFORM 1 FROM job j WHERE j.id = holder AND j.lease = 0 FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  WITH found AS MATERIALIZED (
    SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority, EXISTS (
      SELECT 1 FROM key_holder k WHERE k.queue = l.queue AND k.ordering_key = j.ordering_key AND k.id = j.id
    ) AS has_turn
    FROM job j JOIN lane l ON l.id = j.lane WHERE j.id = holder AND j.lease = 0
  ), ready_gone AS (
    DELETE FROM ready r USING found b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
  ), deferred_gone AS (
    DELETE FROM deferred d USING found b WHERE d.due = b.run_at AND d.id = b.id AND d.state = 1 RETURNING d.id
  ), keyed_gone AS (
    DELETE FROM keyed k USING found b
    WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
    RETURNING k.id
  ), moved AS MATERIALIZED (
    SELECT b.*, wanted.run_at <= wanted.created_at AS due FROM found b
    WHERE EXISTS (SELECT 1 FROM ready_gone UNION ALL SELECT 1 FROM deferred_gone UNION ALL SELECT 1 FROM keyed_gone)
  ), changed AS (
    UPDATE job j SET run_at = wanted.run_at, args = wanted.args, codec = 0, metadata = wanted.metadata FROM moved m WHERE j.id = m.id
  ), now_ready AS (
    INSERT INTO ready (lane, run_at, id) SELECT lane, wanted.run_at, id FROM moved WHERE due AND (ordering_key IS NULL OR has_turn)
  ), now_keyed AS (
    INSERT INTO keyed (queue, ordering_key, priority, run_at, id, lane)
    SELECT queue, ordering_key, priority, wanted.run_at, id, lane FROM moved WHERE due AND ordering_key IS NOT NULL AND NOT has_turn
  ), now_deferred AS (
    INSERT INTO deferred (due, id, lane, state, ordering_key) SELECT wanted.run_at, id, lane, 1, ordering_key FROM moved WHERE NOT due
  ), checks AS (
    INSERT INTO key_check (queue, ordering_key) SELECT queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
  )
  SELECT q.namespace, q.name, m.lane, m.due AND (m.ordering_key IS NULL OR m.has_turn) AS is_ready INTO moved_job
  FROM moved m JOIN queue q ON q.id = m.queue;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM tell_nodes(moved_job.namespace, moved_job.name, moved_job.lane, wanted.run_at, moved_job.is_ready);
  RETURN true;
END $$;

-- A new id: a UUIDv7, whose bits after the millisecond are the part of it that has passed.
CREATE FUNCTION {schema}.new_id() RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  digits text := lpad(to_hex(micros_of(clock_timestamp()) * 4096 / 1000), 15, '0');
BEGIN
  RETURN left(digits, 12) || '7' || right(digits, 3) || substr(replace(gen_random_uuid()::text, '-', ''), 17);
END $$;

-- What a time is in microseconds; NULL if there is none, as which the beginning of the first year counts.
CREATE FUNCTION {schema}.time_of(moment timestamptz, job uuid) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF moment < '0001-01-01 00:00:00+00' OR moment > '9999-12-31 23:59:59+00' THEN
    PERFORM refuse_invalid('job ' || job, 'its run time or its deadline is not between the years 1 and 9999');
  END IF;
  RETURN nullif(micros_of(moment), -62135596800000000);
END $$;

-- Where texts are not in UTF-8 neither the limits of names nor unique keys would be those of the library.
CREATE FUNCTION {schema}.check_encoding() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
      MESSAGE = 'holdfast: invalid request: the encoding of the database is ' || current_setting('server_encoding') || ' instead of UTF8';
  END IF;
END $$;

CREATE FUNCTION {schema}.check_kind(kind text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF position('@' IN kind) > 0 THEN
    PERFORM refuse_invalid('kind', quoted(kind) || ' contains an @, which is reserved for versions');
  END IF;
  PERFORM check_name('kind', kind);
END $$;

CREATE FUNCTION {schema}.check_metadata(value text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF value IS NULL THEN
    RETURN;
  END IF;
  PERFORM check_json('metadata', value, 65536);
  IF json_typeof(value::json) <> 'object' THEN
    PERFORM refuse_invalid('metadata', 'not a JSON object: ' || excerpt(value));
  END IF;
END $$;

-- What makes a job unique, as users give it.
CREATE FUNCTION {schema}.check_unique(by text[], fields text[], period interval, key text, on_conflict text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  word text;
BEGIN
  FOREACH word IN ARRAY coalesce(by, '{}') LOOP
    IF word IS NULL OR word NOT IN ('kind', 'args', 'queue') THEN
      PERFORM refuse_invalid('unique', quoted(coalesce(word, '')) || ' is none of kind, args and queue');
    END IF;
  END LOOP;
  CASE
    WHEN cardinality(fields) = 0 THEN
      PERFORM refuse_invalid('unique', 'unique_fields needs at least one field');
    WHEN '' = ANY (fields) OR array_position(fields, NULL) IS NOT NULL THEN
      PERFORM refuse_invalid('unique', 'the name of a field in unique_fields must not be empty');
    WHEN period <> interval '0' AND period < interval '1 second' THEN
      PERFORM refuse_invalid('unique', format('the period %s is shorter than a second', period));
    WHEN on_conflict NOT IN ('return', 'reject', 'replace') THEN
      PERFORM refuse_invalid('unique', format('on_conflict %s is none of return, reject and replace', quoted(on_conflict)));
    WHEN key <> '' THEN
      PERFORM check_name('unique key', key, true);
    ELSE
  END CASE;
END $$;

-- Tags as they are stored.
CREATE FUNCTION {schema}.tags_of(list text[]) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  tag text;
BEGIN
  IF coalesce(cardinality(list), 0) = 0 THEN
    RETURN NULL;
  ELSIF cardinality(list) > 20 THEN
    PERFORM refuse_invalid('tags', cardinality(list) || ' exceed the limit of 20');
  END IF;
  FOREACH tag IN ARRAY list LOOP
    PERFORM check_name('tag', tag, true);
  END LOOP;
  RETURN to_jsonb(ARRAY(SELECT unnest(list)));
END $$;

-- The id, if there is a job with it in the namespace. One of another namespace is a conflict.
CREATE FUNCTION {schema}.known_job(same_id uuid, in_namespace text) RETURNS uuid LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  known_in text;
BEGIN
  IF same_id IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT q.namespace INTO known_in FROM job j JOIN lane l ON l.id = j.lane JOIN queue q ON q.id = l.queue WHERE j.id = same_id;
  IF known_in <> in_namespace THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = 'holdfast: conflict: the id ' || same_id || ' is taken';
  END IF;
  RETURN CASE WHEN FOUND THEN same_id END;
END $$;

-- Takes a unique key, if there is one to take, unless another job holds it: then its id is the answer. Neither is one that let go of it at this
-- moment.
CREATE FUNCTION {schema}.take_key(wanted bytea, new_id uuid, OUT taken boolean, OUT holder uuid) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  taken := wanted IS NULL;
  IF taken THEN
    RETURN;
  END IF;
  INSERT INTO unique_key (key, id) VALUES (wanted, new_id) ON CONFLICT (key) DO NOTHING;
  taken := FOUND;
  IF NOT taken THEN
    SELECT u.id INTO holder FROM unique_key u JOIN job j ON j.id = u.id WHERE u.key = wanted;
  END IF;
END $$;

-- Gives back a unique key of a job that was not stored.
CREATE FUNCTION {schema}.leave_key(taken bytea, by_job uuid) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM unique_key u WHERE u.key = taken AND u.id = by_job;
END $$;

-- Stores a job and its pointer, and tells nodes. False if the id is known already.
CREATE FUNCTION {schema}.store_job(body {schema}.job, in_namespace text, in_queue text, queue_id int, of_priority int) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata, ordering_key,
    unique_key, unique_states)
  VALUES (body.id, body.lane, body.run_at, body.created_at, 0, 0, body.max_attempts, 0, body.args, body.options, body.tags, body.metadata,
    body.ordering_key, body.unique_key, body.unique_states)
  ON CONFLICT (id) DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF body.run_at > body.created_at THEN
    INSERT INTO deferred (due, id, lane, state, ordering_key) VALUES (body.run_at, body.id, body.lane, 1, body.ordering_key);
  ELSIF body.ordering_key IS NULL THEN
    INSERT INTO ready (lane, run_at, id) VALUES (body.lane, body.run_at, body.id);
  ELSE
    INSERT INTO keyed (queue, ordering_key, priority, run_at, id, lane)
    VALUES (queue_id, body.ordering_key, of_priority, body.run_at, body.id, body.lane);
    INSERT INTO key_check (queue, ordering_key) VALUES (queue_id, body.ordering_key);
  END IF;
  PERFORM tell_nodes(in_namespace, in_queue, body.lane, body.run_at, body.run_at <= body.created_at AND body.ordering_key IS NULL);
  RETURN true;
END $$;

-- The function for users. Of parameters that are NULL the default holds. args and metadata are of one type: text that is JSON, json or jsonb;
-- text and json are stored as they are written. The settings keep its statements to indexes, also where the tables were small when the
-- statements were planned.
--
-- Jobs that are enqueued by one statement have one time, as those of one call of the library have: that of the statement or, in a procedure that
-- has begun another transaction since, of that.
--
-- It checks what it was given, in the order of the parameters, completes the body, finds the lane, and then stores the job. What is in the way,
-- the same id or the unique key, it takes for the answer. If another transaction lets go of that in between, it tries again.
CREATE FUNCTION {schema}.enqueue(
  kind text, args anycompatible DEFAULT NULL, namespace text DEFAULT 'default', queue text DEFAULT 'default', priority int DEFAULT 2,
  run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, max_attempts int DEFAULT NULL,
  timeout interval DEFAULT NULL, deadline timestamptz DEFAULT NULL, backoff interval DEFAULT NULL, backoff_limit interval DEFAULT NULL,
  tags text[] DEFAULT NULL, metadata anycompatible DEFAULT NULL, ordering_key text DEFAULT NULL,
  unique_by text[] DEFAULT NULL, unique_fields text[] DEFAULT NULL, unique_period interval DEFAULT NULL, unique_key text DEFAULT NULL,
  unique_while text[] DEFAULT NULL, on_conflict text DEFAULT NULL, job_id uuid DEFAULT NULL,
  OUT id uuid, OUT existing boolean, OUT replaced boolean
) LANGUAGE plpgsql
SET search_path = {schema}, pg_temp SET standard_conforming_strings = on
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  began      timestamptz := greatest(statement_timestamp(), transaction_timestamp());
  args_text  text := coalesce(args::text, 'null');
  about_text text := metadata::text;
  is_unique  boolean := num_nonnulls(unique_by, unique_fields, unique_period, unique_key, unique_while) > 0;
  body       job;
  place      record;
  key        record;
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
  FOR try IN 1..4 LOOP
    id := known_job(job_id, namespace);
    EXIT WHEN id IS NOT NULL;
    key := take_key(body.unique_key, body.id);
    IF NOT key.taken THEN
      id := key.holder;
      EXIT WHEN id IS NOT NULL;
    ELSIF store_job(body, namespace, queue, place.queue_id, priority) THEN
      id := body.id;
      existing := false;
      RETURN;
    ELSE -- another transaction has stored the id meanwhile
      PERFORM leave_key(body.unique_key, body.id);
    END IF;
  END LOOP;
  IF id IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
      MESSAGE = 'holdfast: database unavailable: another transaction holds the lock: the unique key of job ' || body.id || ' is changing hands';
  ELSIF id <> body.id AND on_conflict = 'reject' THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = 'holdfast: conflict: its unique key is held by job ' || id;
  ELSIF id <> body.id AND on_conflict = 'replace' THEN
    replaced := replace_job(id, body);
  END IF;
END $$;

RESET check_function_bodies;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (9, 'enqueue', {schema}.clock(NULL));
