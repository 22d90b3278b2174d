-- What people did, newest first: of all, of a namespace, of a target, and of a job.

-- name: audit_all
-- params: @since, @at, @seq, @any_actor, @actor, @any_action, @action, @any_kind, @kind, @jobs, @limit
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM holdfast_audit INDEXED BY holdfast_audit_at
WHERE at >= @since AND (at, seq) < (@at, @seq)
  AND (@any_actor OR actor = @actor) AND (@any_action OR action = @action) AND (@any_kind OR kind = @kind OR @jobs AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit + 0;

-- name: audit_in
-- params: @namespace, @since, @at, @seq, @any_actor, @actor, @any_action, @action, @any_kind, @kind, @jobs, @limit
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM holdfast_audit INDEXED BY holdfast_audit_namespace
WHERE namespace = @namespace AND at >= @since AND (at, seq) < (@at, @seq)
  AND (@any_actor OR actor = @actor) AND (@any_action OR action = @action) AND (@any_kind OR kind = @kind OR @jobs AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit + 0;

-- name: audit_to
-- params: @of, @name, @since, @at, @seq, @anywhere, @namespace, @any_actor, @actor, @any_action, @action, @any_kind, @kind, @jobs, @limit
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM holdfast_audit INDEXED BY holdfast_audit_target
WHERE kind = @of AND name = @name AND at >= @since AND (at, seq) < (@at, @seq) AND (@anywhere OR namespace = @namespace)
  AND (@any_actor OR actor = @actor) AND (@any_action OR action = @action) AND (@any_kind OR kind = @kind OR @jobs AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit + 0;

-- A job has few.
-- name: audit_of
-- params: @job, @since, @at, @seq, @anywhere, @namespace, @any_actor, @actor, @any_action, @action, @any_kind, @kind, @jobs, @limit
SELECT seq, at, actor, action, namespace, kind, name, job, detail, before, after FROM holdfast_audit INDEXED BY holdfast_audit_job
WHERE job = @job AND at >= @since AND (at, seq) < (@at, @seq) AND (@anywhere OR namespace = @namespace)
  AND (@any_actor OR actor = @actor) AND (@any_action OR action = @action) AND (@any_kind OR kind = @kind OR @jobs AND job IS NOT NULL)
ORDER BY at DESC, seq DESC LIMIT @limit + 0;
