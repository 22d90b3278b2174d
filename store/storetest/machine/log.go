package machine

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

func (m *machine) logActions() map[string]func(*rapid.T) {
	if !m.mode.logged {
		return nil
	}
	all := map[string]func(*rapid.T){"logmuch": m.logMuch}
	for i := range 6 {
		all[fmt.Sprintf("log%d", i)] = m.keepLogs
	}
	return all
}

// keepLogs keeps lines of some runs, live and stale ones, and of a job that is not there.
func (m *machine) keepLogs(t *rapid.T) {
	var chunks []store.LogChunk
	for range rapid.IntRange(1, 4).Draw(t, "chunks") {
		c := store.LogChunk{
			Job: m.anyJob(t), Lease: rapid.Int64Range(1, 4).Draw(t, "lease"), Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"),
			First: rapid.Int64Range(1, 6).Draw(t, "first"), Count: rapid.IntRange(1, 3).Draw(t, "count"),
			Opens: chance(t, "opens", 40),
		}
		if chance(t, "keeps", 30) {
			c.Keep = rapid.Int64Range(0, 6).Draw(t, "keep")
		}
		if c.Lines = fmt.Appendf(nil, "%d\n", len(m.last)); chance(t, "large", 30) {
			c.Lines = []byte(strings.Repeat("x", store.LogChunkBytes))
		}
		if chance(t, "other lease", 10) {
			c.Lease = rapid.Int64Range(1, 3*store.LogJobRuns).Draw(t, "any lease")
		}
		chunks = append(chunks, c)
		t.Logf("%v logs %d.%d, %d bytes, keep %d, opens %v", m.names([]store.ID{c.Job}), c.Lease, c.First, len(c.Lines), c.Keep, c.Opens)
	}
	m.must("KeepLogs", m.store.KeepLogs(m.ctx, chunks), m.model.KeepLogs(m.ctx, chunks))
}

// logMuch logs as much of one job as is kept, and a little more: in many runs, or in large ones.
func (m *machine) logMuch(t *rapid.T) {
	job, runs, size := m.anyJob(t), int64(store.LogJobRuns), 10
	if chance(t, "large", 50) {
		runs, size = store.LogJobBytes/store.LogChunkBytes, store.LogChunkBytes
	}
	var chunks []store.LogChunk
	for lease := range runs {
		chunks = append(chunks, store.LogChunk{
			Job: job, Lease: lease + 2, First: 1, Count: 1, Lines: make([]byte, size), Opens: lease == runs-1,
		})
	}
	t.Logf("%v logs much: %d runs", m.names([]store.ID{job}), runs)
	m.must("KeepLogs", m.store.KeepLogs(m.ctx, chunks), m.model.KeepLogs(m.ctx, chunks))
}

// checkLogs compares what is kept of all jobs.
func (m *machine) checkLogs() {
	if !m.mode.logged {
		return
	}
	for _, k := range m.jobs {
		params := store.LogParams{Namespace: m.namespace, Job: k.enqueue.Job.ID, Limit: 1000}
		got, err := m.store.Logs(m.ctx, params)
		m.must("Logs", err)
		want, err := m.model.Logs(m.ctx, params)
		m.must("Logs", nil, err)
		m.same("Logs", got, want, cmpopts.EquateEmpty())
	}
}
