-- What nodes have counted and measured, by the minute, and by the hour when it is older. A node has a
-- row a minute. at is when the span begins. Programs of before know nothing of it.
CREATE TABLE holdfast_fact (
  namespace TEXT NOT NULL,
  span      INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  jobs      BLOB,
  gauges    BLOB
);

CREATE UNIQUE INDEX holdfast_fact_place ON holdfast_fact (namespace, span, at, node, number);

-- What is old, of all namespaces.
CREATE INDEX holdfast_fact_time ON holdfast_fact (span, at, namespace, node, number);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (38, 'facts', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
