-- Messages carry the header traceparent of W3C Trace Context of the span in which they were sent; NULL: it was in none. Free: rows
-- that are there stay as they are, and programs that do not know the column send messages without one.
ALTER TABLE holdfast_inbox ADD COLUMN trace TEXT;

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (45, 'traces', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
