package replay

import (
	"fmt"
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// maxAppend and maxAppendBytes bound what one write of a run carries, so that nobody waits long behind it.
	maxAppend      = 500
	maxAppendBytes = 1 << 20
)

// JournalLimit is how much a run may remember: what is there is read whenever it resumes.
type JournalLimit struct {
	Entries int64 // 50,000
	Bytes   int64 // of data, names and paths; 64 MiB
}

// weight is what an entry counts against the limit of its journal.
func weight(e *store.Entry) int64 { return int64(len(e.Data) + len(e.Name) + len(e.Path)) }

// full reports, as an error that says what to do, that the run remembers all it may.
func (m *memory) full() error {
	limit := m.run.host.MaxJournal()
	if m.entries < limit.Entries && m.bytes < limit.Bytes {
		return nil
	}
	return fmt.Errorf(
		"%w: job %s has %d of %d entries and %d of %d bytes (WithMaxJournal); return ContinueAsNew, or split the work into children",
		usercode.ErrJournalFull, m.run.claimed.Job.ID, m.entries, limit.Entries, m.bytes, limit.Bytes)
}

// warnIfLong says once that the run remembers half of what it may: every resuming reads it.
func (m *memory) warnIfLong() {
	limit := m.run.host.MaxJournal()
	if m.warned || 2*m.entries < limit.Entries && 2*m.bytes < limit.Bytes {
		return
	}
	m.warned = true
	m.run.host.Say(slog.LevelWarn,
		"a run's journal is half full, and is read each time the run resumes; return ContinueAsNew, or split the work into children",
		slog.Int64(logs.KeyEntries, m.entries), slog.Int64(logs.KeyBytes, m.bytes),
		slog.Int64(logs.KeyMaxEntries, limit.Entries), slog.Int64(logs.KeyMaxBytes, limit.Bytes))
}

// portion is how many of the pending entries, and of the children that are enqueued with them, the
// next write carries. Each child belongs to the entry that remembers it, in the same order.
func (m *memory) portion() (entries, enqueues int) {
	bytes := int64(0)
	for i := range m.pending {
		e := &m.pending[i]
		if bytes += weight(e); i > 0 && (i == maxAppend || bytes > maxAppendBytes) {
			return i, enqueues
		}
		if e.Kind == store.EntryChild {
			enqueues++
		}
	}
	return len(m.pending), len(m.enqueues)
}
