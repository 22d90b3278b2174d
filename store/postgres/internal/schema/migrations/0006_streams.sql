-- What jobs have published and streamed stays when they continue as new, before the entry with which they last did (kind 16). Of those that
-- ever did this is the number of that entry, with which what they remember begins. Most never do, and a look at a small table tells.
CREATE TABLE {schema}.generation (
  id    uuid PRIMARY KEY,
  first bigint NOT NULL
) WITH (fillfactor = 70);

-- This reads all journals once.
INSERT INTO {schema}.generation (id, first) SELECT id, max(seq) FROM {schema}.journal WHERE kind = 16 GROUP BY id;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (6, 'streams', {schema}.clock(NULL));
