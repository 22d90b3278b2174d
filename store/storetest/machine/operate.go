package machine

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

func (m *machine) cancelJobs(t *rapid.T) {
	var ids []store.ID
	m.drawJobs(t, &ids, func(k *known) bool { return k.live })
	m.cancel(t, ids)
}

func (m *machine) cancel(t *rapid.T, ids []store.ID) {
	params := store.CancelParams{Jobs: ids, Reason: cancelReason, Actor: "ada"}
	t.Logf("cancel %v", m.names(params.Jobs))
	got, _, err := m.store.Cancel(m.ctx, params)
	want, _, err2 := m.model.Cancel(m.ctx, params)
	m.must("Cancel", err, err2)
	m.sameResults("Cancel", got, want)
}

// sameResults compares what became of jobs. If answers are lost, a call that was repeated has not
// ended a job itself.
func (m *machine) sameResults(op string, got, want []store.Result) {
	m.same("number of answers", len(got), len(want))
	ignored := []string{"Err"}
	if m.mode.lossy {
		ignored = append(ignored, "Ended")
	}
	for i := range want {
		m.sameErr(op, got[i].Err, want[i].Err)
		m.same(op, got[i], want[i], cmpopts.IgnoreFields(store.Result{}, ignored...))
	}
}

func (m *machine) retryJobs(t *rapid.T) {
	params := store.RetryParams{Actor: "ada", Reason: "once more"}
	m.drawJobs(t, &params.Jobs, func(k *known) bool {
		return k.state == store.Failed || k.state == store.Cancelled || k.state == store.Retryable
	})
	m.retry(t, params)
}

func (m *machine) retry(t *rapid.T, params store.RetryParams) {
	m.closeBefore(t, params.Jobs)
	t.Logf("retry %v", m.names(params.Jobs))
	got, _, err := m.store.Retry(m.ctx, params)
	want, _, err2 := m.model.Retry(m.ctx, params)
	m.must("Retry", err, err2)
	m.sameResults("Retry", got, want)
	for i := range want {
		if k := m.find(params.Jobs[i]); k != nil && got[i].Err == nil {
			k.retried = true
		}
	}
}

func (m *machine) pauseQueue(t *rapid.T) {
	params := store.PauseParams{
		Namespace: m.namespace, Queue: m.anyQueue(t), Paused: rapid.Bool().Draw(t, "paused"), Actor: "ada",
	}
	t.Logf("pause %s: %v", params.Queue, params.Paused)
	m.must("Pause", m.store.Pause(m.ctx, params), m.model.Pause(m.ctx, params))
}

func (m *machine) restQueue(t *rapid.T) {
	params := store.RestParams{
		Namespace: m.namespace, Queue: m.anyQueue(t), For: pick(t, "for", 0, time.Second, time.Minute),
		Curve: store.Backoff{Base: time.Second, Cap: time.Minute},
	}
	got, err := m.store.Rest(m.ctx, params)
	want, wantErr := m.model.Rest(m.ctx, params)
	t.Logf("rest %s for %v: %v", params.Queue, params.For, want)
	m.must("Rest", err, wantErr)
	m.same("Rest", got, want)
}

// setQueue sets how jobs are attempted, such that it can be told to the microsecond, or unsets it.
func (m *machine) setQueue(t *rapid.T) {
	params := store.SetQueueParams{Namespace: m.namespace, Queue: m.anyQueue(t), Actor: "ada"}
	params.Unset = pick(t, "unset", 0, store.SettingMaxAttempts, store.SettingBackoff, store.SettingMaxAttempts|store.SettingBackoff)
	set := pick(t, "set", store.SettingTimeout, store.SettingMaxAttempts, store.SettingBackoff, 0) &^ params.Unset
	if set&store.SettingMaxAttempts != 0 {
		params.Set.MaxAttempts = pick(t, "attempts", 2, 1, 4)
	}
	if set&store.SettingBackoff != 0 {
		params.Set.Backoff = store.Backoff{Base: 20 * time.Second, Cap: time.Minute}
	}
	if set&store.SettingTimeout != 0 {
		params.Set.Timeout = time.Second
	}
	switch class := pick(t, "class", "", "soon", "mixed", "ever", "nothing", "unset"); class {
	case "":
	case "unset":
		params.Unset |= store.SettingRetention
	default:
		m.haveClasses()
		params.Set.Retention = class
	}
	if pick(t, "if", false, true) {
		set, err := m.model.AttemptsOfQueues(m.ctx, m.namespace)
		m.must("AttemptsOfQueues", err, nil)
		was := set[pick(t, "of", params.Queue, m.anyQueue(t))]
		params.If = &was
	}
	got, err := m.store.SetQueue(m.ctx, params)
	want, wantErr := m.model.SetQueue(m.ctx, params)
	t.Logf("set %s: %v: %v, %v", params.Queue, params.Detail(), want, wantErr)
	m.sameErr("SetQueue", err, wantErr)
	m.same("SetQueue", got, want)
}

// haveClasses makes the classes of retention that queues name. They are of the database, which
// other sequences use too, so they are always the same.
func (m *machine) haveClasses() {
	for _, class := range []store.RetentionClass{
		{Name: "soon", Completed: time.Minute, Failed: time.Minute, Cancelled: time.Minute},
		{Name: "mixed", Completed: 48 * time.Hour, Failed: time.Minute, Cancelled: store.KeepForever},
		{Name: "ever", Completed: store.KeepForever, Failed: store.KeepForever, Cancelled: store.KeepForever},
		{Name: "nothing"},
	} {
		_, err := m.store.SetRetention(m.ctx, class)
		_, err2 := m.model.SetRetention(m.ctx, class)
		m.must("SetRetention", err, err2)
	}
}

func (m *machine) deleteQueue(t *rapid.T) {
	params := store.DeleteQueueParams{Namespace: m.namespace, Queue: m.anyQueue(t), Actor: "ada"}
	t.Logf("delete %s", params.Queue)
	got, want := m.store.DeleteQueue(m.ctx, params), m.model.DeleteQueue(m.ctx, params)
	if m.mode.lossy && want == nil && errors.Is(got, store.ErrNotFound) {
		return // the call whose answer was lost has done it
	}
	m.sameErr("DeleteQueue", got, want)
}

func (m *machine) promoteDue(t *rapid.T) {
	limit := pick(t, "limit", 1000, 1, 2, 3)
	t.Logf("promote %d", limit)
	got, err := m.store.Promote(m.ctx, limit)
	want, err2 := m.model.Promote(m.ctx, limit)
	m.must("Promote", err, err2)
	if m.mode.lossy {
		// Some may have been promoted by a call whose answer was lost, and more by its repetition.
		m.settle()
		return
	}
	if got.Jobs != want.Jobs || (got.More != want.More && want.Jobs < limit) {
		t.Fatalf("Promote: the store says %+v, the model %+v", got, want)
	}
	for _, w := range want.Wakes {
		if !env.IsReady(got.Wakes, w.Namespace, w.Queue) {
			t.Fatalf("Promote: the store says %+v, the model %+v", got, want)
		}
	}
	if !want.More && !got.NextDue.Equal(want.NextDue) {
		t.Fatalf("Promote: the next job is due at %v, the model says %v", got.NextDue, want.NextDue)
	}
}

func (m *machine) sweepCancels(*rapid.T) {
	_, err := m.store.SweepCancels(m.ctx)
	_, err2 := m.model.SweepCancels(m.ctx)
	m.must("SweepCancels", err, err2)
}
