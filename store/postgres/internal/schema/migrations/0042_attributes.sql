-- The search attributes that namespaces declare. leaving tells of one that its values are being removed.
CREATE TABLE {schema}.attribute (
  id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace   text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  type        int NOT NULL,
  declared_at bigint NOT NULL,
  leaving     boolean NOT NULL DEFAULT false,
  UNIQUE (namespace, name)
);

-- What jobs have for them, in bytes that are in the order of the values. A job that has none has no row.
CREATE TABLE {schema}.attribute_value (
  id        uuid NOT NULL,
  attribute int NOT NULL,
  value     bytea NOT NULL,
  PRIMARY KEY (id, attribute)
);

CREATE UNIQUE INDEX attribute_value_place ON {schema}.attribute_value (attribute, value, id);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (42, 'attributes', {schema}.clock(NULL), 36);
