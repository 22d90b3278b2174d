-- What a person has set of how the jobs of a queue are attempted, as a document.
ALTER TABLE {schema}.queue ADD COLUMN attempts text;

-- Read by nodes, and nearly always empty.
CREATE INDEX queue_attempts ON {schema}.queue (namespace) WHERE attempts IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (25, 'queue_attempts', {schema}.clock(NULL));
