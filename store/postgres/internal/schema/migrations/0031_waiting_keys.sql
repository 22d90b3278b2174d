-- The jobs of a key of a limit per key. Of other jobs it has nothing: whether one has a key is told by its options, without reading them as
-- JSON. This reads the table job once; it cannot be written meanwhile.
CREATE INDEX job_limit_key ON {schema}.job ((options ->> 'limit_key'), id) WHERE strpos(options::text, '"limit_key"') > 0;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (31, 'waiting_keys', {schema}.clock(NULL));
