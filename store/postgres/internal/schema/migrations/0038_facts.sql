-- What nodes have counted and measured, by the minute, and by the hour when it is older. A node has a row a minute, which it
-- writes some times in that minute: there is room for that. at is when the span begins. Programs of before know nothing of it.
CREATE TABLE {schema}.fact (
  namespace text COLLATE "C" NOT NULL,
  span      smallint NOT NULL,
  at        bigint NOT NULL,
  node      bigint NOT NULL,
  number    bigint NOT NULL,
  version   bigint NOT NULL,
  jobs      bytea,
  gauges    bytea,
  PRIMARY KEY (namespace, span, at, node, number)
) WITH (fillfactor = 50);

-- What is old, of all namespaces. Each is of one span, so that pages of one namespace, which name it in a parameter, do not use it.
CREATE INDEX fact_minutes ON {schema}.fact (at, namespace, node, number) WHERE span = 1;

CREATE INDEX fact_hours ON {schema}.fact (at, namespace, node, number) WHERE span = 2;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (38, 'facts', {schema}.clock(NULL), 36);
