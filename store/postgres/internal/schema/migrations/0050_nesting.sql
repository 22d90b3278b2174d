-- The function enqueue refuses payloads that are nested more than 200 deep, as programs do: readers in other languages could not read them.
-- Jobs that are there stay as they are.
DROP FUNCTION {schema}.check_json(text, text, int);

SET check_function_bodies = off; -- they name each other without the schema

-- Payloads: JSON within a limit, without NUL, and not deeper than others read.
CREATE FUNCTION {schema}.check_json(what text, value text, most int) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  is_json boolean := true;
  depth bigint := 0;
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
  IF is_json AND length(value) - length(translate(value, '[{', '')) > 200 THEN
    depth := json_depth(value);
  END IF;
  IF NOT is_json OR depth > 10000 THEN
    PERFORM refuse_invalid(what, 'not valid JSON: ' || excerpt(value));
  END IF;
  IF position('\u0000' IN value) > 0 AND value ~ '(^|[^\\])(\\\\)*\\u0000' THEN
    PERFORM refuse_invalid(what, 'it contains the NUL character (\u0000)');
  END IF;
  IF depth > 200 THEN
    PERFORM refuse_invalid(what, 'arrays and objects are nested more than 200 deep, which many readers cannot read');
  END IF;
END $$;

RESET check_function_bodies;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (50, 'nesting', {schema}.clock(NULL), 36);
