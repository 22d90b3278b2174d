-- Search attributes: what namespaces have declared, and what jobs have for it.

-- name: attributes_declared
SELECT id, name, type, declared_at, leaving FROM holdfast_attribute WHERE namespace = ? ORDER BY name;

-- name: attributes_all
SELECT namespace, name, type, declared_at, leaving FROM holdfast_attribute ORDER BY namespace, name;

-- name: attribute_insert
INSERT INTO holdfast_attribute (namespace, name, type, declared_at, leaving) VALUES (?, ?, ?, ?, ?);

-- name: attribute_import
INSERT INTO holdfast_attribute (namespace, name, type, declared_at, leaving) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (namespace, name) DO UPDATE SET type = excluded.type, declared_at = excluded.declared_at, leaving = excluded.leaving;

-- Removes the values of an attribute that has another type than this.
-- name: attribute_values_of_other_type
DELETE FROM holdfast_attribute_value WHERE attribute IN (
  SELECT id FROM holdfast_attribute WHERE namespace = ? AND name = ? AND type <> ?
);

-- name: attribute_leave
UPDATE holdfast_attribute SET leaving = 1 WHERE id = ?;

-- Removes some of the values that jobs have.
-- name: attribute_values_remove
DELETE FROM holdfast_attribute_value WHERE (attribute, value, id) IN (
  SELECT attribute, value, id FROM holdfast_attribute_value WHERE attribute = ? LIMIT ? + 0
);

-- name: attribute_delete
DELETE FROM holdfast_attribute WHERE id = ?;

-- The attribute of a name in the namespace of a job.
-- name: attribute_for_job
SELECT a.id, a.type FROM holdfast_job j CROSS JOIN holdfast_lane l ON l.id = j.lane CROSS JOIN holdfast_queue q ON q.id = l.queue
CROSS JOIN holdfast_attribute a ON a.namespace = q.namespace WHERE j.id = ? AND a.name = ? AND a.leaving = 0;

-- name: attribute_value_put
INSERT INTO holdfast_attribute_value (attribute, value, id) VALUES (?, ?, ?)
ON CONFLICT (id, attribute) DO UPDATE SET value = excluded.value;

-- name: attribute_value_unset
DELETE FROM holdfast_attribute_value WHERE id = ? AND attribute = ?;

-- name: attributes_of_job
SELECT a.name, a.type, v.value FROM holdfast_attribute_value v CROSS JOIN holdfast_attribute a ON a.id = v.attribute
WHERE v.id = ? AND a.leaving = 0 ORDER BY a.name;

-- name: attribute_value
SELECT value FROM holdfast_attribute_value WHERE id = ? AND attribute = ?;

-- The next jobs that have a value, in the order of their ids.
-- name: valued_newest
SELECT id FROM holdfast_attribute_value WHERE attribute = ? AND value = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: valued_oldest
SELECT id FROM holdfast_attribute_value WHERE attribute = ? AND value = ? AND id >= ? AND id < ? ORDER BY id LIMIT ? + 0;

-- Jobs that have a value of a range.
-- name: valued_few
SELECT id FROM holdfast_attribute_value WHERE attribute = ? AND value >= ? AND value < ? LIMIT ? + 0;

-- name: retain_attributes
DELETE FROM holdfast_attribute_value WHERE id = ?;
