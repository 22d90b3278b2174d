-- What is known of the database as a whole: its id, which tells it from others, and the copy of another database into it.
CREATE TABLE {schema}.meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

INSERT INTO {schema}.meta (name, value) VALUES ('database_id', md5(random()::text || clock_timestamp()::text || txid_current()::text));

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (13, 'copies', {schema}.clock(NULL));
