-- The feed of changes: a row for each transaction that moved jobs while the feed was on, or for a thousand of its changes.
-- It gives them the positions first to first + n - 1. ids has 16 bytes for each; states a byte for each, or one if they
-- are the same; reasons has those of ends, separated by line breaks, or NULL if there are none.
--
-- The feed is on while holdfast_meta has a row named feed, whose value is the microsecond in which it was switched on.
CREATE TABLE holdfast_feed (
  first   INTEGER PRIMARY KEY,
  n       INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  states  BLOB NOT NULL,
  ids     BLOB NOT NULL,
  reasons TEXT
);

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (35, 'feed', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
