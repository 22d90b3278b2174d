-- What waits at a gate is told apart by its lane: who puts it back into ready passes over lanes whose queues are paused, however many wait there.
ALTER TABLE {schema}.gated DROP CONSTRAINT gated_pkey;
ALTER TABLE {schema}.gated ADD PRIMARY KEY (gate, lane, run_at, id);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (30, 'gate_lanes', {schema}.clock(NULL));
