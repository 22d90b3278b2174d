-- What runs have logged, in chunks of lines.

-- One that is there stays, and one of a job that is not there is dropped.
-- name: log_put
-- params: @job, @lease, @first, @attempt, @count, @lines
INSERT INTO holdfast_job_log (id, lease, first, attempt, count, lines)
SELECT x.id, x.lease, x.first, x.attempt, x.count, x.lines
FROM (SELECT @job AS id, @lease AS lease, @first AS first, @attempt AS attempt, @count AS count, @lines AS lines) x
WHERE EXISTS (SELECT 1 FROM holdfast_job j WHERE j.id = x.id)
ON CONFLICT (id, lease, first) DO NOTHING;

-- name: log_trim
DELETE FROM holdfast_job_log WHERE id = ? AND lease = ? AND first < ?;

-- The runs of a job before so many later ones, or before so many bytes of later ones. The length of
-- lines is read without them.
-- name: log_old
-- params: @job, @runs, @bytes
SELECT lease FROM (
  SELECT lease, row_number() OVER (ORDER BY lease DESC) AS number,
    coalesce(sum(bytes) OVER (ORDER BY lease DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
  FROM (SELECT lease, sum(length(lines)) AS bytes FROM holdfast_job_log WHERE id = @job GROUP BY lease)
) WHERE number > @runs OR later >= @bytes;

-- name: log_drop
DELETE FROM holdfast_job_log WHERE id = ? AND lease = ?;

-- name: log
-- params: @job, @lease, @first, @limit
SELECT lease, first, attempt, count, lines FROM holdfast_job_log
WHERE id = @job AND (lease, first) > (@lease, @first) ORDER BY lease, first LIMIT @limit + 0;

-- name: retain_log
DELETE FROM holdfast_job_log WHERE id = ?;
