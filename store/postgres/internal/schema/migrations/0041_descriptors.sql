-- What code tells of queues (subject 1) and kinds (2), for people: JSON, when it was told, and by which program.
CREATE TABLE {schema}.descriptor (
  namespace text COLLATE "C" NOT NULL,
  subject   smallint NOT NULL,
  name      text COLLATE "C" NOT NULL,
  at        bigint NOT NULL,
  program   text NOT NULL,
  engine    text NOT NULL,
  data      text NOT NULL,
  PRIMARY KEY (namespace, subject, name)
);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (41, 'descriptors', {schema}.clock(NULL), 36);
