-- The search attributes that namespaces declare. leaving tells of one that its values are being removed.
CREATE TABLE holdfast_attribute (
  id          INTEGER PRIMARY KEY,
  namespace   TEXT NOT NULL,
  name        TEXT NOT NULL,
  type        INTEGER NOT NULL,
  declared_at INTEGER NOT NULL,
  leaving     INTEGER NOT NULL DEFAULT 0,
  UNIQUE (namespace, name)
);

-- What jobs have for them, in bytes that are in the order of the values. A job that has none has no row.
CREATE TABLE holdfast_attribute_value (
  attribute INTEGER NOT NULL,
  value     BLOB NOT NULL,
  id        BLOB NOT NULL,
  PRIMARY KEY (attribute, value, id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX holdfast_attribute_value_job ON holdfast_attribute_value (id, attribute);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (42, 'attributes', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
