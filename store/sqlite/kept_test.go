package sqlite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// newKeeping is one whose job has continued as new before, and keeps what it streamed and
// published. What it has forgotten is not all removed.
func newKeeping(t *testing.T) *longJournal {
	m := newLongJournal(t)
	for range 2 {
		m.speak(m.last+1, m.last+10)
		m.continueAsNew()
		m.last += 11
	}
	m.base = m.last
	m.last += muchRemembered
	m.remember(m.base+1, m.last)
	return m
}

// speak streams items and publishes values, one after the other.
func (m *longJournal) speak(first, last int64) {
	m.Helper()
	a := &store.Append{Lease: m.run.Lease}
	for seq := first; seq <= last; seq++ {
		e := store.Entry{Seq: seq, Kind: store.EntryPublished, Path: "1", Name: "key"}
		if seq%2 == 0 {
			e.Kind, e.Name, m.kept = store.EntryStreamed, "stream", append(m.kept, seq)
		} else {
			m.value = seq
		}
		a.Entries = append(a.Entries, e)
	}
	m.apply(&store.Batch{Appends: []*store.Append{a}})
}

// spoken returns the entries of a kind, those of earlier generations too, newest first.
func (m *longJournal) spoken(id store.ID, kind store.EntryKind) (seqs []int64) {
	m.Helper()
	entries, err := m.store.Entries(m.Context(), store.JournalParams{
		Job: id, Kinds: []store.EntryKind{kind}, Earlier: true, Newest: true, Limit: 1000,
	})
	if err != nil {
		m.Fatal(err)
	}
	for _, e := range entries {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// wantKept checks what a job has streamed and published.
func (m *longJournal) wantKept(id store.ID) {
	m.Helper()
	items := m.spoken(id, store.EntryStreamed)
	slices.Reverse(items)
	if !slices.Equal(items, m.kept) {
		m.Errorf("the stream has the items %d, want %d", items, m.kept)
	}
	if values := append(m.spoken(id, store.EntryPublished), 0); values[0] != m.value {
		m.Errorf("the value is that of entry %d, want %d", values[0], m.value)
	}
}

// retainSome removes one portion of what is left, and reports whether there is more.
func (m *longJournal) retainSome() (more bool) {
	m.Helper()
	retained, err := m.store.Retain(m.Context(), store.Retention{Limit: 1})
	if err != nil {
		m.Fatal(err)
	}
	return retained.More
}

// TestWhatIsKeptIsLookedAtOnce: what a job keeps grows, and what it takes to remove the rest does
// not.
func TestWhatIsKeptIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	m := newKeeping(t)
	m.retain()
	const spoken = 10 * littleAtOnce
	for range 5 {
		m.speak(m.last+1, m.last+spoken)
		m.last += spoken
		before := m.rows(m.run.Job.ID)
		m.continueAsNew()
		m.last++
		portions := 1
		for m.retainSome() {
			if portions++; portions > before {
				t.Fatal("it never comes to an end")
			}
		}
		// The first portion goes when the job continues.
		if most := (muchRemembered+spoken+1)/littleAtOnce + 1; portions > most {
			t.Errorf("%d portions were looked at, want %d at the most", portions, most)
		}
		m.wantKept(m.run.Job.ID)
		if n := m.rows(m.run.Job.ID); n != len(m.kept)+2 { // and a value, and that it has continued
			t.Errorf("%d rows are left, of which %d are items", n, len(m.kept))
		}
	}
}

// TestAnotherProcessRemovesTheRest goes on where the first one was when it ended.
func TestAnotherProcessRemovesTheRest(t *testing.T) {
	t.Parallel()
	for _, portions := range []int{0, 1, 5} {
		m := newKeeping(t)
		id := m.run.Job.ID
		m.speak(m.last+1, m.last+10)
		m.continueAsNew()
		for range portions {
			if !m.retainSome() {
				t.Fatal("all is removed already")
			}
		}
		before := m.rows(id)
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		m.store = open(t, m.source)
		sqlite.SetPortion(m.store, littleAtOnce)
		m.wantKept(id)
		if n := m.rows(id); n != before {
			t.Errorf("%d rows are left of %d", n, before)
		}
		m.retain()
		m.wantKept(id)
		if n := m.rows(id); n != len(m.kept)+2 {
			t.Errorf("%d rows are left, of which %d are items", n, len(m.kept))
		}
	}
}

// TestAJobThatKeepsMuchIsRemovedInPortions, with what it has kept.
func TestAJobThatKeepsMuchIsRemovedInPortions(t *testing.T) {
	t.Parallel()
	m := newKeeping(t)
	id := m.run.Job.ID
	m.end(store.Outcome{State: store.Completed})
	before := m.rows(id)
	m.skip.Add(int64(time.Hour))
	retained, err := m.store.Retain(t.Context(), store.Retention{Completed: time.Minute, Limit: 1})
	if err != nil || retained.Jobs != 1 {
		t.Fatal(retained, err)
	}
	// Two portions: of the journal and of the inbox, when the job is removed and when it is looked
	// for what is left.
	if n := m.rows(id); n < before-4*littleAtOnce || n == before {
		t.Errorf("%d rows are left of %d", n, before)
	}
	if left := append(m.spoken(id, store.EntryStreamed), m.spoken(id, store.EntryPublished)...); len(left) > 0 {
		t.Errorf("of a job that was removed the entries %d are read", left)
	}
	m.retain()
	if n := m.rows(id); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

// TestAppendToWhatIsKept: there are gaps before a generation, and nobody writes there.
func TestAppendToWhatIsKept(t *testing.T) {
	t.Parallel()
	m := newKeeping(t)
	m.retain()
	for seq := int64(1); seq <= m.base; seq++ {
		a := &store.Append{Lease: m.run.Lease, Entries: []store.Entry{{Seq: seq, Kind: store.EntryStep, Path: "1"}}}
		if err := store.ApplyEach(t.Context(), m.store, &store.Batch{Appends: []*store.Append{a}}); err != nil {
			t.Fatal(err)
		}
		if a.Err == nil {
			t.Errorf("entry %d was appended to a journal that begins with %d", seq, m.base)
		}
	}
	m.wantKept(m.run.Job.ID)
}
