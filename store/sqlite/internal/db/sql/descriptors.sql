-- What code tells of queues and kinds.

-- name: descriptor
SELECT data FROM holdfast_descriptor WHERE namespace = ? AND subject = ? AND name = ?;

-- name: descriptor_put
INSERT INTO holdfast_descriptor (namespace, subject, name, at, program, engine, data) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, subject, name) DO UPDATE
SET at = excluded.at, program = excluded.program, engine = excluded.engine, data = excluded.data;

-- name: descriptor_delete
DELETE FROM holdfast_descriptor WHERE namespace = ? AND subject = ? AND name = ?;

-- name: descriptor_count
SELECT count(*) FROM holdfast_descriptor WHERE namespace = ? AND subject = ?;

-- name: descriptors
SELECT name, at, program, engine, data FROM holdfast_descriptor WHERE namespace = ? AND subject = ? AND name > ? ORDER BY name LIMIT ? + 0;

-- name: descriptors_of
SELECT name, at, program, engine, data FROM holdfast_descriptor WHERE namespace = ? AND subject = ? AND name = ?;
