-- What code tells of queues (subject 1) and kinds (2), for people: JSON, when it was told, and by which program.
CREATE TABLE holdfast_descriptor (
  namespace TEXT NOT NULL,
  subject   INTEGER NOT NULL,
  name      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  program   TEXT NOT NULL,
  engine    TEXT NOT NULL,
  data      TEXT NOT NULL
);

CREATE UNIQUE INDEX holdfast_descriptor_name ON holdfast_descriptor (namespace, subject, name);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (41, 'descriptors', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
