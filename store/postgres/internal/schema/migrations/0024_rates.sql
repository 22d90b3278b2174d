-- Rates of limits. Permits are so many microseconds apart (period; 0: there are none; NULL: the limit has no rate), and so many at once (burst). tat is
-- when the next one comes if none are saved up, seen the time of the last change, move counts changes, and before drained_until no permit comes. A rule
-- with a rate is updated often, in place.
ALTER TABLE {schema}.limit_rule
  ADD COLUMN period bigint,
  ADD COLUMN burst bigint NOT NULL DEFAULT 1,
  ADD COLUMN tat bigint NOT NULL DEFAULT 0,
  ADD COLUMN seen bigint NOT NULL DEFAULT 0,
  ADD COLUMN move bigint NOT NULL DEFAULT 0,
  ADD COLUMN drained_until bigint NOT NULL DEFAULT 0;
ALTER TABLE {schema}.limit_rule SET (fillfactor = 50);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (24, 'rates', {schema}.clock(NULL));
