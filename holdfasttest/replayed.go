package holdfasttest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/engine"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// replayed is an attempt without a node: its journal is given, and it writes nothing. It must end
// where the journal does; a cancel tells it to.
type replayed struct {
	t       *testing.T
	clock   func() time.Time
	log     *slog.Logger
	handler *engine.Handler
	journal store.Journal
	claimed store.Claimed
	run     replay.Run

	wrote   bool  // the run has written beyond its journal
	failure error // error if that does not fit
}

func replayOf(t *testing.T, j *holdfast.Journal, raw store.Journal, h *engine.Handler, clock func() time.Time) *replayed {
	t.Helper()
	r := &replayed{t: t, clock: clock, log: logger(t), handler: h, journal: raw}
	r.claimed = store.Claimed{
		Job:     store.Job{ID: j.Job, Namespace: "default", Kind: j.Kind, Queue: "default", Args: j.Args, Attempt: 1, CreatedAt: clock()},
		Durable: true, CancelRequested: true, CancelReason: "the journal ends here",
	}
	for _, e := range raw.Entries {
		r.claimed.Lease.Number = max(r.claimed.Lease.Number, e.LeaseNumber)
	}
	r.claimed.Lease.Job = j.Job
	r.claimed.Lease.Number++
	if len(raw.Entries) > 0 {
		r.claimed.Job.CreatedAt = raw.Entries[0].At
	}
	return r
}

// play replays the journal, and returns an error if the code does not fit.
func (r *replayed) play() error {
	r.run.Init(r, &r.claimed)
	defer r.run.Stop()
	ended := make(chan *store.Outcome, 1)
	go func() { ended <- r.run.Play(r.run.Start(r.clock(), 0)) }()
	select {
	case o := <-ended:
		failure := r.judge(o)
		if o != nil {
			r.run.FinishJournal(o) // ends its strands
		}
		return failure
	case <-time.After(24 * time.Hour):
		return fmt.Errorf("the handler of kind %q does not return, though its context has ended", r.claimed.Job.Kind)
	}
}

// judge decides by the outcome whether the code fits.
func (r *replayed) judge(o *store.Outcome) error {
	switch {
	case r.wrote:
		return r.failure
	case o == nil:
		return nil
	case o.Reason == store.ReasonNondeterminism:
		return fmt.Errorf("the code does not fit the journal: %s", o.Error)
	case o.Reason == store.ReasonError, o.Reason == store.ReasonTerminal:
		return r.failed(o.Error)
	}
	return nil
}

// failed returns an error for a failure, unless the journal ends in one as well.
func (r *replayed) failed(text string) error {
	if n := len(r.journal.Entries); n > 0 {
		switch last := r.journal.Entries[n-1]; last.Kind {
		case store.EntryStepFailed, store.EntryTimeout, store.EntryClosing, store.EntryCompensated, store.EntryEnded:
			return nil
		case store.EntryReceived:
			for _, m := range r.journal.Messages {
				if m.Seq == last.Ref && m.Error != "" {
					return nil
				}
			}
		default:
		}
	}
	return fmt.Errorf("the replay fails, but the journal does not: %s", text)
}

// replayed implements the handler's run.

func (r *replayed) Job() *store.Job { return &r.claimed.Job }

func (r *replayed) Lease() store.Lease { return r.claimed.Lease }

func (r *replayed) Main() *replay.Strand { return r.run.Main() }

func (r *replayed) Logger(_ *replay.Strand, log *slog.Logger) *slog.Logger {
	if log == nil {
		return r.log
	}
	return log
}

func (*replayed) Checkpoint() *store.Checkpoint { return nil }

func (*replayed) Progress(float64, string) {}

func (*replayed) SaveCheckpoint(context.Context, *replay.Strand, []byte) error { return nil }

// replayed implements replay.Host.

func (r *replayed) Call(ctx context.Context) ([]byte, error) { return r.handler.Run(ctx, r) }

func (r *replayed) Now() time.Time { return r.clock() }

// MaxJournal returns no limit: the journal was within the limit of its time.
func (*replayed) MaxJournal() replay.JournalLimit {
	return replay.JournalLimit{Entries: 1 << 40, Bytes: 1 << 50}
}

// Journal returns the journal, but for the end that the handler wrote in a transaction: with that
// it would not be called.
func (r *replayed) Journal(context.Context) (store.Journal, error) {
	j := r.journal
	if n := len(j.Entries); n > 0 && j.Entries[n-1].Kind == store.EntryEnded {
		j.Entries = j.Entries[:n-1]
	}
	return j, nil
}

// Updates returns none: what the journal has accepted is in the journal.
func (*replayed) Updates(context.Context, int64) ([]store.Update, error) { return nil, nil }

// CancelChildren cancels none: it is called after an Append.
func (*replayed) CancelChildren(context.Context) (open int64, err error) { return 0, nil }

// Append records that the run has written beyond its journal, and ends it. That is an error only if
// the run now fails and compensates where the journal's run did not.
func (r *replayed) Append(a *store.Append) error {
	if r.wrote {
		return store.ErrLeaseLost
	}
	r.wrote = true
	for _, e := range a.Entries {
		var end struct {
			State store.State `json:"state"`
			Error string      `json:"error"`
		}
		if e.Kind == store.EntryClosing && json.Unmarshal(e.Data, &end) == nil && end.State == store.Failed {
			r.failure = r.failed(end.Error)
		}
	}
	return store.ErrLeaseLost
}

func (r *replayed) AppendLast(a *store.Append) error { return r.Append(a) }

func (r *replayed) AppendTx(_ context.Context, _ store.Tx, a *store.Append) error { return r.Append(a) }

func (*replayed) EntryAt(context.Context, int64) (*store.Entry, error) { return nil, nil }

func (*replayed) Again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome {
	return &store.Outcome{State: store.Retryable, Reason: reason, Error: text, Trace: trace, Delay: max(delay, 0)}
}

func (*replayed) Ended(error) {}

func (*replayed) GiveUpLater(func() bool) (stop func()) { return func() {} }

func (r *replayed) Say(level slog.Level, msg string, attrs ...slog.Attr) {
	r.log.LogAttrs(context.Background(), level, msg, attrs...) //nolint:sloglint // the caller's text
}

func (r *replayed) Catch(part string) {
	if p := recover(); p != nil {
		r.t.Errorf("holdfasttest: panic in %s: %v", part, p)
	}
}
