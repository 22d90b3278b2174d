package machine

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// The metadata and the args that jobs have, for paths to lead to.
var (
	machineMetadata = []string{`{"n":1}`, `{"n":2,"a":{"b":"x"}}`, `{"a":{"b":null,"c":[1,2.50]}}`, `[{"n":1.0},3]`}
	machineArgs     = []string{"1", "2", "3", `{"n":1,"a":{"b":["x"]}}`, `{"n":1e0}`, `[{"n":2}]`}
	machineTags     = []string{"x", "y", "z"}
)

func (m *machine) anyTags(t *rapid.T) (tags []string) {
	for _, tag := range machineTags {
		if chance(t, "tag "+tag, 40) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// anyMeta draws what a run says of its job, mostly nothing.
func (m *machine) anyMeta(t *rapid.T) *store.Meta {
	if !chance(t, "says", 20) {
		return nil
	}
	says := &store.Meta{}
	if chance(t, "metadata", 60) {
		says.Metadata = []byte(pick(t, "says metadata", machineMetadata...))
	}
	if chance(t, "tags", 60) {
		says.Tags = append([]string{}, m.anyTags(t)...)
	}
	says.Attributes = m.anyAttributes(t, true)
	return says
}

// editJob changes a job, mostly one that does not run.
func (m *machine) editJob(t *rapid.T) {
	var ids []store.ID
	m.drawJobs(t, &ids, func(k *known) bool { return !k.live && !k.state.Finished() })
	params := store.EditParams{Job: ids[0], Edit: m.anyEdit(t), Reason: "it has to be", Actor: "ada"}
	if k := m.find(ids[0]); k != nil && chance(t, "same key", 50) {
		params.Edit.UniqueKey = k.enqueue.Job.UniqueKey
	}
	text, err := json.Marshal(params.Edit) //nolint:musttag // only for the log
	m.must("the log", err)
	t.Logf("edit %v: %s", m.names(ids[:1]), text)
	got, told, err := m.store.Edit(m.ctx, params)
	want, wantTold, err2 := m.model.Edit(m.ctx, params)
	m.sameErr("Edit", err, err2)
	m.same("Edit", got, want)
	if m.mode.lossy || m.mode.keyed {
		return // the second time nothing changes; and who has a turn is the store's choice
	}
	for _, w := range wantTold {
		if w.Kind == store.WakeReady && !env.IsReady(told, w.Namespace, w.Queue) || w.Kind == store.WakeDeferred && !isDue(told, w.Due) {
			t.Fatalf("Edit: the store tells of %+v, the model of %+v", told, wantTold)
		}
	}
}

func isDue(wakes []store.Wake, at time.Time) bool {
	for _, w := range wakes {
		if w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(at) {
			return true
		}
	}
	return false
}

// anyEdit draws a change, mostly of one or two things.
func (m *machine) anyEdit(t *rapid.T) (e store.Edit) {
	e.Attributes = m.anyAttributes(t, true)
	for range rapid.IntRange(1, 2).Draw(t, "changes") {
		switch pick(t, "change", "queue", "priority", "run at", "run at", "attempts", "deadline", "timeout", "heartbeat",
			"args", "metadata", "tags", "tag") {
		case "queue":
			e.Queue = new(m.anyQueue(t))
		case "priority":
			e.Priority = new(rapid.IntRange(1, 4).Draw(t, "priority"))
		case "run at":
			e.RunAt = new(m.clock.Now().Add(pick(t, "in", 0, -time.Minute, time.Second, time.Minute)))
		case "attempts":
			e.MaxAttempts = new(pick(t, "attempts", 1, 2, 5))
		case "deadline":
			e.Deadline = new(m.clock.Now().Add(pick(t, "within", time.Second, time.Minute)))
			if chance(t, "no deadline", 40) {
				e.Deadline = new(time.Time{})
			}
		case "timeout":
			e.Timeout = new(pick(t, "timeout", time.Second, time.Minute))
		case "heartbeat":
			e.Heartbeat = new(pick(t, "heartbeat", time.Second, time.Minute))
		case "args":
			e.Args = []byte(pick(t, "args", machineArgs...))
		case "metadata":
			e.Metadata = []byte(pick(t, "metadata", machineMetadata...))
		case "tags":
			e.Tags = new(m.anyTags(t))
		case "tag":
			e.AddTags, e.DropTags = m.anyTags(t), m.anyTags(t)
		}
	}
	return e
}

// deleteJobs removes jobs, most of them finished ones.
func (m *machine) deleteJobs(t *rapid.T) {
	some := pick(t, "only", 0, 0, store.SetOf(store.Failed), store.SetOf(store.Completed, store.Cancelled))
	params := store.DeleteParams{Reason: "it is old", Actor: "ada", States: some}
	m.drawJobs(t, &params.Jobs, func(k *known) bool { return k.state.Finished() })
	t.Logf("delete %v", m.names(params.Jobs))
	got, _, err := m.store.Delete(m.ctx, params)
	want, _, err2 := m.model.Delete(m.ctx, params)
	m.must("Delete", err, err2)
	m.same("number of answers", len(got), len(want))
	for i := range want {
		if again := m.mode.lossy && want[i].Err == nil && errors.Is(got[i].Err, store.ErrNotFound); !again { // the second time
			m.sameErr("Delete", got[i].Err, want[i].Err)
			m.same("Delete", got[i], want[i], cmpopts.IgnoreFields(store.Result{}, "Err"))
		}
		if k := m.find(params.Jobs[i]); k != nil && want[i].Err == nil {
			k.removed = true
		}
	}
}
