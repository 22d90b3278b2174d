-- Jobs that continue as new go on numbering their journals, which asks nothing of the tables here. It
-- is a migration because both databases have the same ones, and SQLite's changes its tables.

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (5, 'generations', {schema}.clock(NULL));
