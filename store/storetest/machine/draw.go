package machine

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// anyJob draws the id of a job that was enqueued, or now and then an unknown one.
func (m *machine) anyJob(t *rapid.T) store.ID {
	if len(m.jobs) == 0 || chance(t, "unknown job", 3) {
		return m.ids.Next()
	}
	// The draws shrink towards the last one.
	return m.jobs[len(m.jobs)-1-rapid.IntRange(0, len(m.jobs)-1).Draw(t, "job from the last")].enqueue.Job.ID
}

// drawJobs draws some jobs, most of them from those that fit, if there are any.
func (m *machine) drawJobs(t *rapid.T, ids *[]store.ID, fits func(*known) bool) {
	var fitting []*known
	for _, k := range m.jobs {
		if !k.removed && fits(k) {
			fitting = append(fitting, k)
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "jobs") {
		if len(fitting) > 0 && !chance(t, "any job", 40) {
			*ids = append(*ids, one(t, "fitting job", fitting).enqueue.Job.ID)
		} else {
			*ids = append(*ids, m.anyJob(t))
		}
	}
}

// anyRun draws a run, mostly a live one.
func (m *machine) anyRun(t *rapid.T) *run {
	var live []*run
	for _, r := range m.runs {
		if r.job.live && r.store.Lease.Number == r.job.lease {
			live = append(live, r)
		}
	}
	if len(live) > 0 && !chance(t, "stale", 15) {
		return one(t, "run", live)
	}
	if len(m.runs) == 0 {
		return nil
	}
	return one(t, "run", m.runs)
}

func (m *machine) anyQueue(t *rapid.T) string { return pick(t, "queue", machineQueues...) }

func (m *machine) anyKinds(t *rapid.T) []string {
	if m.mode.durable {
		return pick(t, "kinds", []string{"k1", "k2", "k1@v1", "k2@v1", "k3@v1"}, []string{"k1", "k2", "k3", "k1@v1"},
			[]string{"k1@v1", "k2@v1"}, []string{"k2", "k3"})
	}
	return pick(t, "kinds", []string{"k1", "k2"}, []string{"k1", "k2"}, machineKinds, []string{"k2"})
}

// key is one that no other send has.
func (m *machine) key() string {
	m.sends++
	return fmt.Sprint("send", m.sends)
}
