-- Answers on their way to parents are found by these, so that a parent that a caller's transaction has is passed over with all its answers.
CREATE INDEX untold_parent ON {schema}.untold (parent, seq);
DROP INDEX {schema}.untold_seq;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (16, 'untold_parents', {schema}.clock(NULL));
