-- Requests of callers that have a key of the caller's, so that a repeated one does nothing and is answered as the first one was. hash
-- names a request, print is what it asks. One with until has begun and is not known to have ended.
CREATE TABLE {schema}.request (
  hash   bytea PRIMARY KEY,
  print  bytea NOT NULL,
  at     bigint NOT NULL,
  until  bigint,
  owner  bytea,
  answer bytea NOT NULL
);

CREATE INDEX request_at ON {schema}.request (at);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (47, 'requests', {schema}.clock(NULL), 36);
