package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// longJournal is a store with a job that remembers much, for transactions that move little.
type longJournal struct {
	*testing.T

	store   store.Store
	source  sqlite.Config
	db      *sql.DB
	skip    atomic.Int64 // how much the clock is ahead
	onClock atomic.Value // of func(), called whenever the time is asked for
	node    int64
	seq     int64
	run     store.Claimed
	written int
	base    int64 // the entry before those that are remembered
	last    int64 // the last of them, up to which it is forked
	kept    []int64
	value   int64
}

const (
	muchRemembered = 20 // entries, each second of which received a signal
	littleAtOnce   = 3
)

func newLongJournal(t *testing.T) *longJournal {
	m := &longJournal{T: t}
	m.onClock.Store(func() {})
	source := sqlite.File(file(t))
	source.Synchronous = sqlite.Normal
	source.Clock = func() time.Time {
		m.onClock.Load().(func())() //nolint:errcheck,forcetypeassert // it is only stored here
		return time.Now().Add(time.Duration(m.skip.Load()))
	}
	m.source = source
	m.store = open(t, source)
	sqlite.SetPortion(m.store, littleAtOnce)
	m.db = database(t, source.Path)
	var err error
	if m.node, err = m.store.Join(t.Context(), store.NodeInfo{}); err != nil {
		t.Fatal(err)
	}
	m.apply(&store.Batch{Enqueues: []*store.Enqueue{newJob()}})
	m.claim()
	m.remember(1, muchRemembered)
	m.last = muchRemembered
	return m
}

// both runs a test with a job of one generation, and with one that continued as new before.
func both(t *testing.T, name string, test func(t *testing.T, m *longJournal)) {
	t.Helper()
	for of, begin := range map[string]func(*testing.T) *longJournal{"the first generation": newLongJournal, "a later one": newKeeping} {
		t.Run(name+"/"+of, func(t *testing.T) {
			t.Parallel()
			test(t, begin(t))
		})
	}
}

func (m *longJournal) apply(batch *store.Batch) {
	m.Helper()
	if err := store.ApplyEach(m.Context(), m.store, batch); err != nil {
		m.Fatal(err)
	}
	for _, o := range batch.Outcomes {
		if o.Err != nil {
			m.Fatal(o.Err)
		}
	}
	for _, a := range batch.Appends {
		if a.Err != nil {
			m.Fatal(a.Err)
		}
	}
	for _, q := range batch.Sends {
		if q.Err != nil {
			m.Fatal(q.Err)
		}
	}
}

func (m *longJournal) claim() {
	m.Helper()
	m.seq += 10
	claimed, err := claim(m.Context(), m.store, m.node, m.seq, 1)
	if err != nil || len(claimed) != 1 {
		m.Fatal(len(claimed), err)
	}
	m.run = claimed[0]
}

// remember writes entries that no other ones are like.
func (m *longJournal) remember(first, last int64) {
	m.Helper()
	a := &store.Append{Lease: m.run.Lease}
	for seq := first; seq <= last; seq++ {
		m.written++
		e := store.Entry{Seq: seq, Kind: store.EntryStep, Path: strconv.Itoa(m.written), Data: []byte(strconv.Itoa(m.written))}
		if seq%2 == 0 {
			q := &store.Send{Job: m.run.Job.ID, Key: strconv.Itoa(m.written), Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
			m.apply(&store.Batch{Sends: []*store.Send{q}})
			e.Kind, e.Ref = store.EntryReceived, q.Result.Seq
		}
		a.Entries = append(a.Entries, e)
	}
	m.apply(&store.Batch{Appends: []*store.Append{a}})
}

func (m *longJournal) end(o store.Outcome) {
	m.Helper()
	o.Lease, o.Durable = m.run.Lease, true
	m.apply(&store.Batch{Outcomes: []*store.Outcome{&o}})
}

func (m *longJournal) continueAsNew() {
	m.Helper()
	m.end(store.Outcome{State: store.Available, Continue: &store.Continue{Args: []byte(`{}`)}})
	m.claim()
}

// resume lets the job go on from an entry, after it has failed.
func (m *longJournal) resume(keep int64) {
	m.Helper()
	m.end(store.Outcome{State: store.Failed})
	if _, _, err := m.store.Resume(m.Context(), store.ResumeParams{Job: m.run.Job.ID, Keep: keep, Expect: -1}); err != nil {
		m.Fatal(err)
	}
	m.claim()
}

func (m *longJournal) journal(id store.ID) store.Journal {
	m.Helper()
	journals, err := m.store.Journals(m.Context(), "", []store.ID{id})
	if err != nil {
		m.Fatal(err)
	}
	return journals[0]
}

// rows counts what is there under the id of a job, visible or not.
func (m *longJournal) rows(id store.ID) (n int) {
	m.Helper()
	const count = "SELECT (SELECT count(*) FROM holdfast_journal WHERE id = ?1) + (SELECT count(*) FROM holdfast_inbox WHERE id = ?1)"
	if err := m.db.QueryRowContext(m.Context(), count, id[:]).Scan(&n); err != nil {
		m.Fatal(err)
	}
	return n
}

func (m *longJournal) retain() {
	m.Helper()
	if _, err := m.store.Retain(m.Context(), store.Retention{}); err != nil {
		m.Fatal(err)
	}
	left := 0
	if err := m.db.QueryRowContext(m.Context(), "SELECT count(*) FROM holdfast_leftover").Scan(&left); err != nil || left != 0 {
		m.Errorf("%d jobs have left something, %v", left, err)
	}
}

// fork is what makes a fork of the job.
func (m *longJournal) fork() store.ForkParams {
	return store.ForkParams{From: m.run.Job.ID, Keep: m.last, Job: newJob().Job}
}

// wantFork checks that a fork remembers what the job does up to an entry.
func (m *longJournal) wantFork(id store.ID) {
	m.Helper()
	original, forked := m.journal(m.run.Job.ID), m.journal(id)
	want := store.Journal{Job: id}
	received := map[int64]bool{}
	for _, e := range original.Entries {
		if e.Seq <= m.last {
			e.LeaseNumber = 0
			want.Entries = append(want.Entries, e)
			received[e.Ref] = e.Kind == store.EntryReceived
		}
	}
	for _, message := range original.Messages {
		if received[message.Seq] {
			want.Messages = append(want.Messages, message)
		}
	}
	if diff := cmp.Diff(want, forked); diff != "" {
		m.Errorf("the fork remembers something else (-want +got):\n%s", diff)
	}
	if len(want.Entries) > 1 && len(want.Messages) == 0 {
		m.Error("the original remembers nothing that can be compared")
	}
	switch {
	case len(want.Entries) > 0:
		m.wantKept(id)
	case len(m.spoken(id, store.EntryStreamed))+len(m.spoken(id, store.EntryPublished)) > 0:
		m.Error("a fork that remembers nothing knows what was streamed or published")
	}
}

// TestForkWhileItIsCopied lets something happen after the entries of a fork were copied, and before
// the fork is there.
func TestForkWhileItIsCopied(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(m *longJournal, fork store.ForkParams){
		"nothing": func(*longJournal, store.ForkParams) {},
		"the original goes on": func(m *longJournal, _ store.ForkParams) {
			m.remember(m.last+1, m.last+4)
		},
		"the original is cut": func(m *longJournal, _ store.ForkParams) { m.resume(m.base + 4) },
		"the original is cut, and goes on": func(m *longJournal, _ store.ForkParams) {
			m.resume(m.base + 4)
			m.remember(m.base+5, m.last+4)
		},
		"the original is cut to its last copied entry": func(m *longJournal, _ store.ForkParams) {
			m.remember(m.last+1, m.last+4)
			m.resume(m.last)
			m.remember(m.last+1, m.last+2)
		},
		"the original continues as new": func(m *longJournal, _ store.ForkParams) {
			m.continueAsNew()
			m.remember(m.last+2, m.last+4)
		},
		"maintenance": func(m *longJournal, fork store.ForkParams) {
			before := m.rows(fork.Job.ID)
			if _, err := m.store.Retain(m.Context(), store.Retention{}); err != nil {
				m.Fatal(err)
			}
			if n := m.rows(fork.Job.ID); n != before {
				m.Errorf("%d rows are left of %d", n, before)
			}
		},
		"it takes so long that the copy is removed": func(m *longJournal, fork store.ForkParams) {
			m.skip.Add(int64(time.Hour))
			m.retain()
			if n := m.rows(fork.Job.ID); n != 0 {
				m.Errorf("%d rows are left of it", n)
			}
		},
		"some of the copy is removed": func(m *longJournal, fork store.ForkParams) {
			m.skip.Add(int64(time.Hour))
			before := m.rows(fork.Job.ID)
			for m.rows(fork.Job.ID) == before { // what the original has forgotten may come first
				m.retainSome()
			}
			if n := m.rows(fork.Job.ID); n == 0 {
				m.Errorf("%d rows are left of %d", n, before)
			}
		},
		"another one makes the same fork": func(m *longJournal, fork store.ForkParams) {
			if _, err := m.store.Fork(m.Context(), fork); err != nil {
				m.Error(err)
			}
		},
	} {
		both(t, name, func(t *testing.T, m *longJournal) {
			fork := m.fork()
			rest, err := sqlite.CopyAhead(t.Context(), m.store, fork)
			if err != nil {
				t.Fatal(err)
			}
			want := muchRemembered + muchRemembered/2
			if len(m.kept) > 0 { // with that it continued, and a value
				want += 1 + len(m.kept) + 1
			}
			if n := m.rows(fork.Job.ID); n != want {
				t.Fatalf("%d rows are copied, want %d", n, want)
			}
			if _, err := m.store.Get(t.Context(), "", fork.Job.ID); err == nil {
				t.Fatal("the fork is there before it is made")
			}
			meanwhile(m, fork)
			if err := rest(); err != nil {
				t.Fatal(err)
			}
			m.wantFork(fork.Job.ID)
			m.retain()
			m.wantFork(fork.Job.ID)
		})
	}
}

// TestForkThatIsNeverMade breaks off the copying wherever it can be, as the end of the process
// would.
func TestForkThatIsNeverMade(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(m *longJournal, fork store.ForkParams){
		"what was copied is removed": func(m *longJournal, fork store.ForkParams) {
			m.skip.Add(int64(time.Hour))
			m.retain()
			if n := m.rows(fork.Job.ID); n != 0 {
				m.Errorf("%d rows are left", n)
			}
		},
		"it is made the next time": func(m *longJournal, fork store.ForkParams) {
			if _, err := m.store.Fork(m.Context(), fork); err != nil {
				m.Fatal(err)
			}
			m.wantFork(fork.Job.ID)
			m.retain()
			m.wantFork(fork.Job.ID)
		},
		"its id is another job's": func(m *longJournal, fork store.ForkParams) {
			q := newJob()
			q.Job.ID = fork.Job.ID
			m.apply(&store.Batch{Enqueues: []*store.Enqueue{q}})
			if n := m.rows(fork.Job.ID); n != 0 {
				m.Errorf("%d rows of the fork are that job's", n)
			}
			m.skip.Add(int64(time.Hour))
			m.retain()
		},
	} {
		both(t, name, func(t *testing.T, m *longJournal) {
			left := false
			for breakAt := int64(1); ; breakAt++ {
				ctx, cancel := context.WithCancel(t.Context())
				calls := atomic.Int64{}
				m.onClock.Store(func() {
					if calls.Add(1) == breakAt {
						cancel()
					}
				})
				fork := m.fork()
				_, err := m.store.Fork(ctx, fork)
				m.onClock.Store(func() {})
				cancel()
				if err == nil {
					m.wantFork(fork.Job.ID)
					break
				}
				left = left || m.rows(fork.Job.ID) > 0
				then(m, fork)
			}
			if !left {
				t.Error("nothing was ever left")
			}
		})
	}
}

// TestWhatIsForgottenGoesInPortions: a job that continues as new begins with nothing, and leaves
// much behind, which goes bit by bit.
func TestWhatIsForgottenGoesInPortions(t *testing.T) {
	t.Parallel()
	m := newLongJournal(t)
	id := m.run.Job.ID
	before := m.rows(id)
	m.continueAsNew()
	if n := m.rows(id); n != before+1-2*littleAtOnce {
		t.Errorf("%d rows are left of %d", n, before)
	}
	if j := m.journal(id); len(j.Entries) != 1 || j.Entries[0].Ref != 0 || len(j.Messages) != 0 {
		t.Errorf("the next generation begins with %+v", j)
	}
	m.remember(muchRemembered+2, muchRemembered+5)
	m.continueAsNew() // before the last one is gone
	// A key that was used before is free.
	q := &store.Send{Job: id, Key: "20", Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
	if m.apply(&store.Batch{Sends: []*store.Send{q}}); q.Result != (store.SendResult{Seq: 1}) {
		t.Errorf("the first message: %+v", q.Result)
	}
	again := &store.Send{Job: id, Key: "20", Message: q.Message}
	if m.apply(&store.Batch{Sends: []*store.Send{again}}); again.Result != (store.SendResult{Seq: 1, Duplicate: true}) {
		t.Errorf("the first message once more: %+v", again.Result)
	}
	m.retain()
	if n := m.rows(id); n != 2 {
		t.Errorf("%d rows are left", n)
	}
	m.remember(muchRemembered+7, muchRemembered+8)
	if j := m.journal(id); len(j.Entries) != 3 || len(j.Messages) != 2 || j.Messages[1].Seq != 2 || j.Entries[2].Ref != 2 {
		t.Errorf("the last generation: %+v", j)
	}
}

// TestAJobThatRemembersMuchIsRemovedInPortions, and its id may be used again at once.
func TestAJobThatRemembersMuchIsRemovedInPortions(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		m := newLongJournal(t)
		id := m.run.Job.ID
		m.end(store.Outcome{State: store.Completed})
		before := m.rows(id)
		m.skip.Add(int64(time.Hour))
		retained, err := m.store.Retain(t.Context(), store.Retention{Completed: time.Minute, Limit: 1})
		if err != nil || retained.Jobs != 1 {
			t.Fatal(retained, err)
		}
		if n := m.rows(id); n == 0 || n == before {
			t.Errorf("%d rows are left of %d", n, before)
		}
		if again {
			q := newJob()
			q.Job.ID = id
			if m.apply(&store.Batch{Enqueues: []*store.Enqueue{q}}); q.Result.Existing {
				t.Error("the removed job is there")
			}
			if m.claim(); m.run.Durable {
				t.Error("a new job remembers what another one did")
			}
			m.remember(1, 4)
			m.retain()
			if n := m.rows(id); n != 6 {
				t.Errorf("%d rows are there of a job that has written 6", n)
			}
			continue
		}
		m.retain()
		if n := m.rows(id); n != 0 {
			t.Errorf("%d rows are left", n)
		}
	}
}

// signal sends a signal, and returns what became of it.
func (m *longJournal) signal(name, key string) store.SendResult {
	m.Helper()
	q := &store.Send{Job: m.run.Job.ID, Key: key, Message: store.Message{Kind: store.MessageSignal, Name: name}}
	m.apply(&store.Batch{Sends: []*store.Send{q}})
	return q.Result
}

// trySend sends to a job that may not take it.
func (m *longJournal) trySend(id store.ID, key string, message store.Message) error {
	m.Helper()
	q := &store.Send{Job: id, Key: key, Message: message}
	if err := store.ApplyEach(m.Context(), m.store, &store.Batch{Sends: []*store.Send{q}}); err != nil {
		m.Fatal(err)
	}
	return q.Err
}

// TestLaterGenerations count on although nothing is left of those before, and know nothing of what
// is hidden still.
func TestLaterGenerations(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{true, false} {
		t.Run(fmt.Sprintf("gone=%t", gone), func(t *testing.T) {
			t.Parallel()
			m := newLongJournal(t)
			last := int64(muchRemembered)
			for range 3 {
				m.continueAsNew()
				last++
				if gone {
					m.retain()
				}
				// Nothing has come: a run that waits for signals is parked, and woken by the first
				// one.
				wait := &store.Wait{Kinds: store.MessagesOf(store.MessageSignal)}
				m.end(store.Outcome{State: store.Waiting, Wait: wait})
				if r, err := m.store.Get(t.Context(), "", m.run.Job.ID); err != nil || r.State != store.Waiting {
					t.Fatalf("it waits for its first signal: %v, %v", r.State, err)
				}
				for seq := int64(1); seq <= 2; seq++ {
					if got := m.signal("go", fmt.Sprint("again", seq)); got.Seq != seq || got.Duplicate {
						t.Errorf("message %d: %+v", seq, got)
					}
				}
				m.claim()
				a := &store.Append{Lease: m.run.Lease, Entries: []store.Entry{
					{Seq: last + 1, Kind: store.EntryReceived, Path: "1", Ref: 2},
				}}
				m.apply(&store.Batch{Appends: []*store.Append{a}})
				last++
				j := m.journal(m.run.Job.ID)
				if len(j.Entries) != 2 || len(j.Messages) != 2 || j.Messages[0].Seq != 1 || j.Messages[1].Seq != 2 {
					t.Fatalf("it remembers %+v", j)
				}
				// The first signal stays for the next generation, and is received there.
				m.continueAsNew()
				last++
				if gone {
					m.retain()
				}
				if j := m.journal(m.run.Job.ID); len(j.Messages) != 1 || j.Messages[0].Seq != 1 {
					t.Fatalf("it remembers %+v", j.Messages)
				}
				if got := m.signal("go", "again1"); got != (store.SendResult{Seq: 1, Duplicate: true}) {
					t.Errorf("what stayed was sent again: %+v", got)
				}
				a.Lease, a.Entries[0].Seq, a.Entries[0].Ref = m.run.Lease, last+1, 1
				m.apply(&store.Batch{Appends: []*store.Append{a}})
				last++
			}
		})
	}
}

// TestWhatIsNotThereIsNotRead: rows of a job that was removed, and of a fork that is being copied.
func TestWhatIsNotThereIsNotRead(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(m *longJournal) store.ID{
		"a removed job": func(m *longJournal) store.ID {
			m.end(store.Outcome{State: store.Completed})
			m.skip.Add(int64(time.Hour))
			if _, err := m.store.Retain(m.Context(), store.Retention{Completed: time.Minute, Limit: 1}); err != nil {
				m.Fatal(err)
			}
			return m.run.Job.ID
		},
		"a fork that is being copied": func(m *longJournal) store.ID {
			fork := m.fork()
			if _, err := sqlite.CopyAhead(m.Context(), m.store, fork); err != nil {
				m.Fatal(err)
			}
			return fork.Job.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newLongJournal(t)
			id := leave(m)
			if m.rows(id) == 0 {
				t.Fatal("nothing is left")
			}
			entries, err := m.store.Entries(t.Context(), store.JournalParams{Job: id, Limit: 1000})
			if err != nil || len(entries) > 0 {
				t.Errorf("%d entries, %v", len(entries), err)
			}
			messages, err := m.store.Messages(t.Context(), store.InboxParams{Job: id, Limit: 1000})
			if err != nil || len(messages) > 0 {
				t.Errorf("%d messages, %v", len(messages), err)
			}
			if j := m.journal(id); len(j.Entries)+len(j.Messages) > 0 {
				t.Errorf("it remembers %+v", j)
			}
			for _, key := range []string{"", "20"} {
				if err := m.trySend(id, key, store.Message{Kind: store.MessageSignal, Name: "go"}); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("a signal to it, with the key %q: %v", key, err)
				}
			}
		})
	}
}

// TestCallbacksOfGenerations: one that was opened, or answered, in what is forgotten is not.
func TestCallbacksOfGenerations(t *testing.T) {
	t.Parallel()
	m := newLongJournal(t)
	open := func(seq int64) {
		m.apply(&store.Batch{Appends: []*store.Append{{
			Lease: m.run.Lease, Entries: []store.Entry{{Seq: seq, Kind: store.EntryCallback, Path: "c", Name: "token"}},
		}}})
	}
	answer := func() error {
		return m.trySend(m.run.Job.ID, "", store.Message{Kind: store.MessageCallback, Name: "token"})
	}
	open(muchRemembered + 1)
	if err := answer(); err != nil {
		t.Fatal(err)
	}
	if err := answer(); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second answer: %v", err)
	}
	m.continueAsNew()
	if err := answer(); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an answer to a callback of before: %v", err)
	}
	open(muchRemembered + 3)
	if err := answer(); err != nil {
		t.Errorf("the callback of the new generation: %v", err)
	}
}

// TestAppendToWhatIsForgotten: the first numbers are free again, and nobody writes there.
func TestAppendToWhatIsForgotten(t *testing.T) {
	t.Parallel()
	m := newLongJournal(t)
	m.continueAsNew()
	a := &store.Append{Lease: m.run.Lease, Entries: []store.Entry{{Seq: 1, Kind: store.EntryStep, Path: "1"}}}
	if err := store.ApplyEach(t.Context(), m.store, &store.Batch{Appends: []*store.Append{a}}); err != nil {
		t.Fatal(err)
	}
	if a.Err == nil {
		t.Error("entry 1 was appended to a journal that begins later")
	}
}
