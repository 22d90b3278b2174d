-- Batches of jobs. settings is what they are for, a JSON document. Members are found by job_parent: their link has the bit 16, and then parent is
-- their batch. They are counted once the batch is closed and sealed, which is when no transaction that was adding to it is open any more, in the
-- order of their ids: cursor is the last one that was counted.
CREATE TABLE {schema}.batch (
  id         uuid PRIMARY KEY,
  namespace  text NOT NULL,
  settings   text NOT NULL,
  created_at bigint NOT NULL,
  closed_at  bigint,
  done_at    bigint,
  completed  bigint NOT NULL DEFAULT 0,
  failed     bigint NOT NULL DEFAULT 0,
  cancelled  bigint NOT NULL DEFAULT 0,
  cursor     uuid,
  sealed     boolean NOT NULL DEFAULT false,
  through    boolean NOT NULL DEFAULT false,
  waited     boolean NOT NULL DEFAULT false,
  version    bigint NOT NULL DEFAULT 1
) WITH (fillfactor = 70);
CREATE INDEX batch_namespace ON {schema}.batch (namespace, id);
CREATE INDEX batch_undone ON {schema}.batch (id) WHERE done_at IS NULL;
CREATE INDEX batch_done ON {schema}.batch (done_at) WHERE done_at IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (26, 'batches', {schema}.clock(NULL));
