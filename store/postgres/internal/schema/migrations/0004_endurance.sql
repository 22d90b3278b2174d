-- What long operation asks for.

-- Whether a run of the job knew of the request when it ended: it had its chance to end the job.
ALTER TABLE {schema}.cancel_request ADD COLUMN seen boolean NOT NULL DEFAULT false;

-- How long the lease was when it was taken. One that ends farther ahead was taken before the clock went back, and is over.
ALTER TABLE {schema}.leader ADD COLUMN ttl bigint;

-- The day, counted from 1970, on which a job was last put into the lane; it may be a little later than the last job. Lanes that have not been
-- used for long, and queues without lanes, are removed, so a process looks on each day whether a lane that it remembers is still there.
ALTER TABLE {schema}.lane ADD COLUMN used_on int;
UPDATE {schema}.lane SET used_on = {schema}.clock(NULL) / 86400000000;
ALTER TABLE {schema}.lane ALTER COLUMN used_on SET NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (4, 'endurance', {schema}.clock(NULL));
