-- What nodes have counted and measured.

-- One that is there is replaced, unless it is newer.
-- name: fact_keep
INSERT INTO holdfast_fact (namespace, span, at, node, number, version, jobs, gauges) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, span, at, node, number) DO UPDATE SET version = excluded.version, jobs = excluded.jobs, gauges = excluded.gauges
WHERE excluded.version >= holdfast_fact.version;

-- One that is there stays.
-- name: fact_put
INSERT INTO holdfast_fact (namespace, span, at, node, number, version, jobs, gauges) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, span, at, node, number) DO NOTHING;

-- name: fact_delete
DELETE FROM holdfast_fact WHERE namespace = ? AND span = ? AND at = ? AND node = ? AND number = ?;

-- A page of those of a namespace.
-- name: facts_page
-- params: @namespace, @span, @from, @to, @after, @node, @number, @limit
SELECT namespace, span, at, node, number, version, jobs, gauges FROM holdfast_fact
WHERE namespace = @namespace AND span = @span AND at >= @from AND at < @to AND (at, node, number) > (@after, @node, @number)
ORDER BY at, node, number LIMIT @limit + 0;

-- A page of those of all namespaces.
-- name: facts_page_of_all
-- params: @span, @from, @to, @after, @namespace, @node, @number, @limit
SELECT namespace, span, at, node, number, version, jobs, gauges FROM holdfast_fact
WHERE span = @span AND at >= @from AND at < @to AND (at, namespace, node, number) > (@after, @namespace, @node, @number)
ORDER BY at, namespace, node, number LIMIT @limit + 0;

-- How large the file is.
-- name: measure
SELECT s.page_size, c.page_count, f.freelist_count FROM pragma_page_size s, pragma_page_count c, pragma_freelist_count f;
