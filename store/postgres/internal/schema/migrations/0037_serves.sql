-- Which programs each step serves: those that know the version serves, or a later one, work on as
-- before. A program that opens a database of a version that it does not know looks whether all of
-- the steps that it does not know serve it. Null, as for the steps before this one: none that does
-- not know the step. Free: the table has a row for each step.
ALTER TABLE {schema}.migration ADD COLUMN serves integer;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (37, 'serves', {schema}.clock(NULL), 36);
