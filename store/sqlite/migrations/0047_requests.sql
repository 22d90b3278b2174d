-- Requests of callers that have a key of the caller's, so that a repeated one does nothing and is answered as the first one was. hash
-- names a request, print is what it asks. One with until has begun and is not known to have ended.
CREATE TABLE holdfast_request (
  hash   BLOB NOT NULL PRIMARY KEY,
  print  BLOB NOT NULL,
  at     INTEGER NOT NULL,
  until  INTEGER,
  owner  BLOB,
  answer BLOB NOT NULL
);

CREATE INDEX holdfast_request_at ON holdfast_request (at);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (47, 'requests', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
