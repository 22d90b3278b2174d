-- name: request
SELECT print, at, until, owner, answer FROM holdfast_request WHERE hash = ?;

-- name: request_insert
INSERT OR REPLACE INTO holdfast_request (hash, print, at, until, owner, answer) VALUES (?, ?, ?, ?, ?, ?);

-- name: request_update
UPDATE holdfast_request SET until = ?, owner = ?, answer = ? WHERE hash = ?;

-- name: request_delete
DELETE FROM holdfast_request WHERE hash = ?;

-- name: requests_over
SELECT 1 FROM holdfast_request INDEXED BY holdfast_request_at WHERE at <= ? LIMIT 1;

-- name: requests_forget
DELETE FROM holdfast_request WHERE hash IN (
  SELECT hash FROM holdfast_request INDEXED BY holdfast_request_at WHERE at <= ? ORDER BY at LIMIT ? + 0);
