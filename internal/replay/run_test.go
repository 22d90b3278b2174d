package replay

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attempt is a host that keeps the journal in memory. It is all that a run needs.
type attempt struct {
	t       *testing.T
	claimed store.Claimed
	journal store.Journal
	writes  []int // entries of each
	refuse  error // what the next write returns
	last    bool  // no attempt is left
	said    []string
	asked   int                       // for requests
	cancels int                       // of children
	left    int64                     // children that a cancel does not end at once
	open    *store.Append             // what a transaction has written that is open
	inTx    func(*store.Append) error // nil: keep it in open
	unsure  int                       // how often EntryAt fails

	mayWrite func() bool // nil: always
	played   func()      // called when the run has left its code; nil: nothing is
	requests []store.Update
	run      *Run
	handler  func(*Run) ([]byte, error)
}

func newAttempt(t *testing.T) *attempt {
	return &attempt{t: t, claimed: store.Claimed{
		Job:   store.Job{ID: uuid.Must(uuid.NewV7()), Kind: "k", Attempt: 1},
		Lease: store.Lease{Number: 1},
	}}
}

// next is the attempt that follows.
func (a *attempt) next() {
	a.claimed.Lease.Number++
	a.claimed.Durable = true
}

func (a *attempt) Now() time.Time { return time.Now() }

func (*attempt) MaxJournal() JournalLimit { return JournalLimit{Entries: 1000, Bytes: 1 << 30} }

func (a *attempt) Journal(context.Context) (store.Journal, error) { return a.journal, nil }

// Updates returns what was sent, but for what has an answer.
func (a *attempt) Updates(_ context.Context, after int64) ([]store.Update, error) {
	a.asked++
	var open []store.Update
	for _, u := range a.requests {
		if u.Seq > after && u.Answer == nil {
			open = append(open, u)
		}
	}
	return open, nil
}

func (a *attempt) Append(w *store.Append) error {
	if a.refuse != nil {
		return a.refuse
	}
	if a.mayWrite != nil && !a.mayWrite() {
		return store.ErrInvalid
	}
	a.writes = append(a.writes, len(w.Entries))
	a.store(w)
	return nil
}

func (a *attempt) store(w *store.Append) {
	a.journal.Entries = append(a.journal.Entries, w.Entries...)
	for _, answer := range w.Answers {
		for i := range a.requests {
			if u := &a.requests[i]; u.Seq == answer.Seq && u.Answer == nil {
				u.Answer = &answer
			}
		}
	}
}

func (a *attempt) AppendLast(w *store.Append) error { return a.Append(w) }

func (a *attempt) AppendTx(_ context.Context, _ store.Tx, w *store.Append) error {
	if a.inTx != nil {
		return a.inTx(w)
	}
	if n := len(a.journal.Entries); n > 0 && a.journal.Entries[n-1].Seq >= w.Entries[0].Seq {
		w.Err = store.ErrLeaseLost
		return nil
	}
	a.open = w
	return nil
}

// commit commits the transaction that is open.
func (a *attempt) commit() {
	for _, e := range a.open.Entries {
		e.LeaseNumber = a.open.Lease.Number
		a.journal.Entries = append(a.journal.Entries, e)
	}
	a.open = nil
}

func (a *attempt) EntryAt(ctx context.Context, seq int64) (*store.Entry, error) {
	if a.open != nil { // it waits
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if a.unsure > 0 {
		a.unsure--
		return nil, store.ErrUnavailable
	}
	for i := range a.journal.Entries {
		if e := a.journal.Entries[i]; e.Seq == seq {
			return &e, nil
		}
	}
	return nil, nil
}

func (a *attempt) CancelChildren(context.Context) (open int64, err error) {
	a.cancels++
	return a.left, a.refuse
}

func (a *attempt) Again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome {
	if a.last {
		return &store.Outcome{State: store.Failed, Reason: store.ReasonAttemptsExhausted, Error: text, Trace: trace}
	}
	return &store.Outcome{State: store.Retryable, Reason: reason, Error: text, Trace: trace, Delay: delay}
}

func (a *attempt) Call(context.Context) ([]byte, error) { return a.handler(a.run) }

func (a *attempt) Ended(error) {}

// GiveUpLater gives up after a minute.
func (a *attempt) GiveUpLater(giveUp func() bool) (stop func()) {
	timer := time.AfterFunc(time.Minute, func() { giveUp() })
	return func() { timer.Stop() }
}

func (a *attempt) Say(_ slog.Level, msg string, _ ...slog.Attr) { a.said = append(a.said, msg) }

func (a *attempt) Catch(part string) {
	if p := recover(); p != nil {
		a.t.Errorf("panic in %s: %v", part, p)
	}
}

// call runs a handler as an attempt does, and returns what is to become of the job.
func (a *attempt) call(handler func(s *Strand) ([]byte, error)) *store.Outcome {
	a.t.Helper()
	a.handler = func(r *Run) ([]byte, error) { return handler(r.Main()) }
	run, before := &Run{}, a.claimed
	run.Init(a, &a.claimed)
	a.run = run
	defer run.Stop()
	defer func() {
		// Others read it without a lock while strands write.
		if !reflect.DeepEqual(before, a.claimed) {
			a.t.Errorf("the attempt changed its claim: %+v, before %+v", a.claimed, before)
		}
	}()
	o := run.Play(run.Start(a.Now(), 0))
	if a.played != nil {
		a.played()
	}
	if o != nil {
		if last, _ := run.FinishJournal(o); last != nil {
			a.store(last)
		}
	}
	return o
}

// TestReplayNeedsNoNode: what a step has returned is remembered, and it does not run again.
func TestReplayNeedsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, ran := newAttempt(t), 0
		began := time.Now()
		handler := func(s *Strand) ([]byte, error) {
			first, err := s.Step("first", StepPolicy{}, func(context.Context, int) ([]byte, error) { ran++; return []byte(`"one"`), nil })
			if err != nil {
				return nil, err
			}
			return first, s.Sleep(await.Limit{Within: time.Hour, Set: true})
		}
		o := a.call(handler)
		if o.State != store.Waiting || o.Wait == nil || !o.Wait.Until.Equal(began.Add(time.Hour)) {
			t.Fatalf("it is not parked for an hour: %+v", o)
		}
		time.Sleep(time.Hour)
		a.next()
		if o = a.call(handler); o.State != store.Completed || string(o.Result) != `"one"` || ran != 1 {
			t.Errorf("after %d runs of the step: %+v", ran, o)
		}
	})
}

// TestCodeThatDoesNotFit is held for a person, whether it asks for something else, or for less.
func TestCodeThatDoesNotFit(t *testing.T) {
	step := func(s *Strand, name string) ([]byte, error) {
		return s.Step(name, StepPolicy{}, func(context.Context, int) ([]byte, error) { return []byte(`1`), nil })
	}
	for name, handler := range map[string]func(s *Strand) ([]byte, error){
		"another step": func(s *Strand) ([]byte, error) { return step(s, "b") },
		"another operation": func(s *Strand) ([]byte, error) {
			return nil, s.Sleep(await.Limit{Within: time.Hour, Set: true})
		},
		"none": func(*Strand) ([]byte, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			a.call(func(s *Strand) ([]byte, error) { return step(s, "a") })
			a.next()
			o := a.call(func(s *Strand) ([]byte, error) {
				if name == "none" {
					if _, err := s.Random(); err != nil { // takes no place
						return nil, err
					}
				}
				return handler(s)
			})
			if o.State != store.Waiting || o.Reason != store.ReasonNondeterminism || o.Wait == nil || !o.Wait.Held {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestWritesThatFail end the attempt: with nothing to write where the lease is lost, and as a
// failure of it otherwise.
func TestWritesThatFail(t *testing.T) {
	for _, c := range []struct {
		refuse error
		want   store.State // 0: nothing is written
	}{{store.ErrLeaseLost, 0}, {store.ErrInvalid, store.Retryable}} {
		a := newAttempt(t)
		a.refuse = c.refuse
		went := false
		o := a.call(func(s *Strand) ([]byte, error) {
			_, err := s.Step("step", StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil })
			went = true
			return nil, err
		})
		switch {
		case went:
			t.Errorf("%v: the code has gone on", c.refuse)
		case c.want == 0 && o != nil, c.want != 0 && (o == nil || o.State != c.want):
			t.Errorf("%v: %+v", c.refuse, o)
		}
	}
}

// TestCancelAsTheRunParks: a cancel that comes before a run is parked ends it, whoever is faster;
// and one that comes after that was not seen by it, so that the next run ends it.
func TestCancelAsTheRunParks(t *testing.T) {
	before := newAttempt(t)
	o := before.call(func(s *Strand) ([]byte, error) {
		if _, err := s.Now(); err != nil {
			return nil, err
		}
		s.run.Cancel(usercode.ErrCancelled)
		return nil, s.Sleep(await.Limit{Within: time.Hour, Set: true})
	})
	if o.State != store.Cancelled || !before.run.SawCancel() {
		t.Errorf("before: %+v, seen: %v", o, before.run.SawCancel())
	}
	for name, end := range map[string]func(s *Strand) error{
		"parked":    func(s *Strand) error { return s.Sleep(await.Limit{Within: time.Hour, Set: true}) },
		"snoozed":   func(*Strand) error { return &usercode.SnoozeError{Delay: time.Hour} },
		"failed":    func(*Strand) error { return errBoom },
		"new":       func(*Strand) error { return &usercode.ContinueError{Kind: "k"} },
		"held over": func(*Strand) error { return &usercode.HandOverError{} },
	} {
		after := newAttempt(t)
		after.played = func() { after.run.Cancel(usercode.ErrCancelled) }
		o := after.call(func(s *Strand) ([]byte, error) { return nil, end(s) })
		if o.State.Finished() || after.run.SawCancel() {
			t.Errorf("%s before: %+v, seen: %v", name, o, after.run.SawCancel())
		}
	}
}

// TestEndThatCannotBeWritten: a run whose end cannot be written, or not what it undoes, goes on in
// another attempt, also if none was left: it is not over before it has compensated.
func TestEndThatCannotBeWritten(t *testing.T) {
	for name, refusedFrom := range map[string]int{"the decision": 0, "a step of a compensation": 1, "its end": 2} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			a.last = true
			undone, refuses := 0, true
			handler := func(s *Strand) ([]byte, error) {
				err := s.OnFailure("undo", func(s *Strand) error {
					_, err := s.Step("undo", StepPolicy{}, func(context.Context, int) ([]byte, error) {
						undone++
						return nil, nil
					})
					return err
				})
				if err != nil {
					return nil, err
				}
				return nil, errBoom
			}
			a.mayWrite = func() bool { return !refuses || len(a.writes) < refusedFrom }
			if o := a.call(handler); o.State != store.Retryable || o.Delay <= 0 {
				t.Fatalf("it ends: %+v", o)
			}
			refuses = false
			a.next()
			if o := a.call(handler); o.State != store.Failed || o.Error != "boom" {
				t.Errorf("%+v", o)
			}
			if want := 1 + refusedFrom%2; undone != want {
				t.Errorf("it was undone %d times, want %d", undone, want)
			}
		})
	}
}

// TestLargeEntriesAreWrittenOneByOne: so many as fit into a write, and those that are too large for
// any alone.
func TestLargeEntriesAreWrittenOneByOne(t *testing.T) {
	a := newAttempt(t)
	const most = memory.MaxAppendBytes
	sizes := []int{100, most + 1, 100, most / 2, most / 2, most / 2, 2 * most}
	o := a.call(func(s *Strand) ([]byte, error) {
		m, err := s.begin("a test", "")
		if err != nil {
			return nil, err
		}
		defer s.end(m)
		for i, size := range sizes {
			data := make([]byte, size)
			_, _ = rand.Read(data) // does not compress
			m.StoreLater(store.Entry{Kind: store.EntryValue, Path: strconv.Itoa(i + 1), Data: data})
		}
		m.flush()
		return nil, nil
	})
	if o.State != store.Completed {
		t.Errorf("%+v", o)
	}
	if want := []int{1, 1, 2, 1, 1, 1}; !slices.Equal(a.writes, want) {
		t.Errorf("writes of %v entries, want %v", a.writes, want)
	}
	if len(a.journal.Entries) != len(sizes) {
		t.Errorf("%d entries of %d are there", len(a.journal.Entries), len(sizes))
	}
}

// TestMisuseSpoilsTheRun: an operation in a step, whatever the code makes of its error.
func TestMisuseSpoilsTheRun(t *testing.T) {
	a := newAttempt(t)
	o := a.call(func(s *Strand) ([]byte, error) {
		_, _ = s.Step("outer", StepPolicy{}, func(context.Context, int) ([]byte, error) {
			if _, err := s.Now(); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("the operation in the step: %v", err)
			}
			return nil, nil
		})
		return nil, nil
	})
	if o.State != store.Retryable || len(a.journal.Entries) != 0 {
		t.Errorf("%d entries, %+v", len(a.journal.Entries), o)
	}
}
