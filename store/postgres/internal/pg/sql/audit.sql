-- What people did, newest first: of all, of a namespace, of a target, and of a job.

-- name: audit_all
-- params: @actor text, @action text, @since bigint, @at bigint, @seq bigint, @limit int, @kind text
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM {schema}.audit
WHERE at >= @since AND (at, seq) < (@at, @seq)
  AND (@actor = '' OR actor = @actor) AND (@action = '' OR action = @action)
  AND (@kind = '' OR kind = @kind OR @kind = 'job' AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit;

-- name: audit_in
-- params: @actor text, @action text, @since bigint, @at bigint, @seq bigint, @limit int, @kind text, @namespace text
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM {schema}.audit
WHERE at >= @since AND (at, seq) < (@at, @seq)
  AND namespace = @namespace
  AND (@actor = '' OR actor = @actor) AND (@action = '' OR action = @action)
  AND (@kind = '' OR kind = @kind OR @kind = 'job' AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit;

-- name: audit_to
-- params: @actor text, @action text, @since bigint, @at bigint, @seq bigint, @limit int, @kind text, @namespace text, @name text
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM {schema}.audit
WHERE at >= @since AND (at, seq) < (@at, @seq)
  AND kind = @kind AND name = @name AND (@namespace = '' OR namespace = @namespace)
  AND (@actor = '' OR actor = @actor) AND (@action = '' OR action = @action)
ORDER BY at DESC, seq DESC LIMIT @limit;

-- A job has few.
-- name: audit_of
-- params: @actor text, @action text, @since bigint, @at bigint, @seq bigint, @limit int, @kind text, @namespace text, @job uuid
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM {schema}.audit
WHERE at >= @since AND (at, seq) < (@at, @seq)
  AND job = @job AND (@namespace = '' OR namespace = @namespace)
  AND (@actor = '' OR actor = @actor) AND (@action = '' OR action = @action)
  AND (@kind = '' OR kind = @kind OR @kind = 'job' AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit;

-- Records what a person has changed.
-- name: audit_change
-- params: @now bigint, @actor text, @action text, @job uuid, @namespace text, @kind text, @name text
-- params: @detail text, @before text, @after text
INSERT INTO {schema}.audit (at, actor, action, job, namespace, kind, name, detail, before, after)
VALUES (@now, @actor, @action, @job, @namespace, @kind, @name, @detail, @before, @after);
