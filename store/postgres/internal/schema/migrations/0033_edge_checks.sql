-- Notes of predecessors are read a portion at a time, in the order of the predecessors.
CREATE INDEX edge_check_predecessor ON {schema}.edge_check (predecessor);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (33, 'edge_checks', {schema}.clock(NULL));
