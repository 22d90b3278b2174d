-- What a job has published and streamed stays when it continues as new. Nobody removes what is kept,
-- so whoever removes what is forgotten notes how far it is: up to that number of its journal all is
-- gone that is to go. NULL: nothing is yet, as with a job that was removed, of which all goes.
ALTER TABLE holdfast_leftover ADD COLUMN cleared INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (6, 'streams', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
