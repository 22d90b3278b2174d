-- What a job has published and streamed stays in its journal when it continues as new, before the entry
-- with which it last did (kind 16). What it remembers begins there.
CREATE INDEX journal_continued ON {schema}.journal (id, seq) WHERE kind = 16;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (6, 'streams', {schema}.clock(NULL));
