-- A waiting job may be handed over to an outside system, which ends it: 1, or 2 if its run has registered compensations.
-- A column that is NULL costs nothing, and adding it rewrites no table.
ALTER TABLE {schema}.deferred ADD COLUMN handed_over smallint;

-- Answers of jobs that callers' transactions have ended, on their way to the jobs' parents: such a transaction, which may
-- stay open, does not lock the parents. They are delivered in the order of seq.
CREATE TABLE {schema}.untold (
  id     uuid NOT NULL PRIMARY KEY,
  seq    bigint GENERATED ALWAYS AS IDENTITY,
  parent uuid NOT NULL,
  state  smallint NOT NULL,
  codec  int NOT NULL,
  reason text,
  error  text,
  data   bytea
);
CREATE INDEX untold_seq ON {schema}.untold (seq);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (10, 'handed_over', {schema}.clock(NULL));
