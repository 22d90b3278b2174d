-- In the order of their hashes, so that two transactions do not wait for each other. Those that
-- were kept long enough are new ones again.
-- name: requests_insert
-- params: @hashes bytea[], @prints bytea[], @now bigint, @until bigint[], @owners bytea[], @before bigint
INSERT INTO {schema}.request (hash, print, at, until, owner, answer)
SELECT hash, print, @now, until, owner, '' FROM unnest(@hashes, @prints, @until, @owners) AS t (hash, print, until, owner) ORDER BY hash
ON CONFLICT (hash) DO UPDATE SET print = excluded.print, at = excluded.at, until = excluded.until, owner = excluded.owner,
  answer = excluded.answer WHERE request.at <= @before
RETURNING hash;

-- name: requests_lock
-- params: @hashes bytea[]
SELECT hash, print, at, until, owner, answer FROM {schema}.request WHERE hash = ANY (@hashes) ORDER BY hash FOR UPDATE;

-- name: requests_answer
-- params: @hashes bytea[], @until bigint[], @owners bytea[], @answers bytea[]
UPDATE {schema}.request r SET until = t.until, owner = t.owner, answer = t.answer
FROM unnest(@hashes, @until, @owners, @answers) AS t (hash, until, owner, answer) WHERE r.hash = t.hash;

-- name: request_delete
-- params: @hash bytea
DELETE FROM {schema}.request WHERE hash = @hash;

-- name: requests_forget
-- params: @before bigint, @limit int
DELETE FROM {schema}.request WHERE hash = ANY (ARRAY(
  SELECT r.hash FROM {schema}.request r WHERE r.at <= @before ORDER BY r.at LIMIT @limit))
RETURNING 1;
