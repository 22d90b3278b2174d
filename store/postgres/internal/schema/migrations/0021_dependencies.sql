-- Jobs that come after others. A row is one that a job still waits for. told is how the predecessor ended, as the job was told of a failure
-- for which it waits for a person; NULL if it was not. The link of a predecessor has the bit 8.
CREATE TABLE {schema}.edge (
  predecessor uuid NOT NULL,
  successor   uuid NOT NULL,
  policy      smallint NOT NULL,
  told        smallint,
  PRIMARY KEY (predecessor, successor)
);
CREATE INDEX edge_successor ON {schema}.edge (successor, predecessor);

-- Predecessors to look at: those that have finished, with what has noted that, and those whose runs may not know of their successors. There may
-- be several of one, so that nobody waits for a transaction that adds one. marked_at is when the body of the predecessor said that it has
-- successors, as was seen.
CREATE TABLE {schema}.edge_check (
  seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  marked_at   bigint,
  predecessor uuid NOT NULL
);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (21, 'dependencies', {schema}.clock(NULL));
