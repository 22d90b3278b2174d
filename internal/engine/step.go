package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// StepPolicy is how a step is tried.
type StepPolicy struct {
	Attempts int           // how often at the most; 0 and 1: once
	Backoff  store.Backoff // between them
	Timeout  time.Duration // of one attempt; 0: none but the run's
	// Retry reports whether an error is worth another attempt; nil: all are, but FailError.
	Retry func(error) bool
}

// StepError is the failure of a step, the same when it happens and when it is replayed.
type StepError struct {
	Step      string `json:"step"`
	Message   string `json:"message"`
	Type      string `json:"type,omitempty"`      // the Go type of the error
	Attempts  int    `json:"attempts"`            // how often the step was tried
	Permanent bool   `json:"permanent,omitempty"` // the step said that trying again does not help
	TimedOut  bool   `json:"timed_out,omitempty"` // the last attempt took too long
}

func (e *StepError) Error() string { return "step " + e.Step + ": " + e.Message }

// retryData is the data of an EntryStepRetry.
type retryData struct {
	Failure StepError `json:"failure"`
	Until   time.Time `json:"until"`
}

// Step runs f, unless the journal knows how it ended, and stores its result.
func (s *Strand) Step(name string, policy StepPolicy, f func(ctx context.Context, attempt int) ([]byte, error)) ([]byte, error) {
	return s.step(name, policy, func(ctx context.Context, m *memory, path string, attempt int) ([]byte, error) {
		data, err := unlocked(ctx, m, policy, attempt, f)
		if err != nil {
			return nil, err
		}
		e := store.Entry{Kind: store.EntryStep, Path: path, Name: name, Data: data}
		if s.undo {
			m.add(e) // a compensation that is tried again comes past it
		} else {
			m.store(e)
		}
		return data, m.flush()
	})
}

// unlocked calls a step's function without the memory's lock.
func unlocked(
	ctx context.Context, m *memory, policy StepPolicy, attempt int, f func(context.Context, int) ([]byte, error),
) ([]byte, error) {
	m.mu.Unlock()
	defer m.mu.Lock() // also if f panics
	if policy.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, policy.Timeout, errStepTimeout)
		defer stop()
	}
	data, err := f(ctx, attempt)
	if err != nil && errors.Is(context.Cause(ctx), errStepTimeout) {
		err = &stepTimeoutError{policy.Timeout, err}
	}
	if err != nil {
		return nil, &stepFailedError{err}
	}
	return data, nil
}

var errStepTimeout = errors.New("holdfast: step timed out")

type stepTimeoutError struct {
	limit time.Duration
	err   error
}

func (e *stepTimeoutError) Error() string {
	return fmt.Sprintf("timed out after %v: %v", e.limit, e.err)
}

func (e *stepTimeoutError) Unwrap() error { return e.err }

// stepFailedError marks an error as that of a step's function, and not of the run around it.
type stepFailedError struct{ err error }

func (e *stepFailedError) Error() string { return e.err.Error() }

// step is a step of either sort: try runs it and stores its result.
func (s *Strand) step(
	name string, policy StepPolicy, try func(ctx context.Context, m *memory, path string, attempt int) ([]byte, error),
) ([]byte, error) {
	m, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	path, entries := s.enter(m, name, store.EntryStep, store.EntryStepFailed, store.EntryStepRetry)
	attempt := 1
	var until time.Time
	for _, e := range entries {
		switch e.Kind {
		case store.EntryStep:
			return unpack(e)
		case store.EntryStepFailed:
			return nil, failureOf(e)
		default:
			var r retryData
			if err := decodeEntry(e, &r); err != nil {
				return nil, err
			}
			attempt, until = r.Failure.Attempts+1, r.Until
		}
	}
	if err := s.open(m); err != nil {
		return nil, err
	}
	for ; ; attempt++ {
		if err := s.until(m, until, func() string { return fmt.Sprintf("step %s, attempt %d", name, attempt) }); err != nil {
			return nil, err
		}
		// What was decided until here is stored before the step acts on it.
		if err := m.flush(); err != nil {
			return nil, err
		}
		data, err := try(s.Context(), m, path, attempt)
		failure, ok := err.(*stepFailedError) //nolint:errorlint // it is never wrapped
		if !ok {
			return data, err
		}
		if err := s.interrupted(m); err != nil {
			return nil, err
		}
		told := &StepError{Step: name, Message: cut(failure.err.Error(), maxError), Type: fmt.Sprintf("%T", failure.err), Attempts: attempt}
		var timeout *stepTimeoutError
		told.TimedOut = errors.As(failure.err, &timeout)
		delay, again := policy.next(failure.err, attempt)
		if !again {
			var fail *FailError
			told.Permanent = errors.As(failure.err, &fail)
			m.add(store.Entry{Kind: store.EntryStepFailed, Path: path, Name: name, Data: encodeEntry(told)})
			return nil, told
		}
		until = s.run.node.store.Now().Add(delay)
		m.add(store.Entry{Kind: store.EntryStepRetry, Path: path, Name: name, Data: encodeEntry(retryData{*told, until})})
		if err := m.flush(); err != nil {
			return nil, err
		}
	}
}

// next is how long to wait before another attempt, if there is one.
func (p StepPolicy) next(err error, attempt int) (delay time.Duration, again bool) {
	var fail *FailError
	var retry *RetryError
	switch {
	case attempt >= p.Attempts, errors.As(err, &fail):
		return 0, false
	case errors.As(err, &retry):
		return max(retry.Delay, 0), true
	case p.Retry != nil && !p.Retry(err):
		return 0, false
	}
	return p.Backoff.Delay(attempt), true
}

// interrupted tells why a step's error is not its own: the run is over here, or is ending. m.mu is held.
func (s *Strand) interrupted(m *memory) error {
	if s.run.life.ended() != nil {
		// The run's end came from outside, and wakes who waits for it; no code is to take it for a failure.
		m.leave(&store.Outcome{State: store.Available, Reason: store.ReasonReleased})
	}
	if m.exiting {
		m.exit()
	}
	if s.undo || s.Context().Err() == nil {
		return nil
	}
	return context.Cause(s.Context())
}

// StepTx is a step whose result is stored in the transaction of what it writes: exactly once. transact begins a
// transaction, calls its argument's commit with it as the last thing, and commits.
func (s *Strand) StepTx(
	name string, policy StepPolicy,
	transact func(ctx context.Context, attempt int, commit func(tx store.Tx, result []byte) error) error,
) ([]byte, error) {
	return s.step(name, policy, func(ctx context.Context, m *memory, path string, attempt int) ([]byte, error) {
		// From before the transaction until it has ended nobody else of the run writes, so that the journal has no gaps, and so that
		// nobody waits for the database with what the transaction waits for.
		for m.flushing {
			m.flushed.Wait()
		}
		m.flushing, m.inTx = true, true
		ended := false
		defer func() {
			if !ended {
				m.written(&store.Append{}, errNothing)
			}
		}()
		var a *store.Append
		var data []byte
		_, err := unlocked(ctx, m, policy, attempt, func(ctx context.Context, attempt int) ([]byte, error) {
			return nil, transact(ctx, attempt, func(tx store.Tx, result []byte) error {
				m.mu.Lock()
				defer m.mu.Unlock()
				packed, codec := pack(result)
				a = &store.Append{Lease: s.run.claimed.Lease, Entries: []store.Entry{{
					Seq: m.stored + 1, Kind: store.EntryStep, Path: path, Name: name, Data: packed, Codec: codec,
				}}}
				data = result
				if err := s.run.node.store.AppendTx(s.run.life.lasting(), tx, a); err != nil {
					return err
				}
				return a.Err
			})
		})
		if a == nil {
			return nil, err
		}
		if err != nil && a.Err == nil && s.happened(m, a) {
			err = nil
		}
		m.written(a, err)
		ended = true
		if err == nil {
			m.bytes += weight(&a.Entries[0])
			if s.undo {
				m.remind(a.Entries[0])
			}
			return data, nil
		}
		if errors.Is(a.Err, store.ErrLeaseLost) {
			return nil, m.spoiled(a.Err)
		}
		return nil, err
	})
}

// errNothing says that nothing was written.
var errNothing = errors.New("nothing was written")

// happened finds out whether a transaction that ended with an error was committed all the same, as a connection that
// breaks, or a context that ends during the commit, cannot tell. It may be under way still, so it is waited for: what the journal says
// before that says nothing. m.mu is held.
func (s *Strand) happened(m *memory, a *store.Append) bool {
	m.mu.Unlock()
	defer m.mu.Lock()
	for try := 1; ; try++ {
		found, err := s.lookFor(a)
		if err == nil {
			return found
		}
		if s.run.life.ended() != nil {
			return false // the run is over here, and the journal tells whoever runs it next
		}
		s.run.node.log.Warn("cannot tell yet whether the transaction of a step was committed; asking again",
			"job", a.Lease.Job, "step", a.Entries[0].Name, "error", err)
		sleepFor(s.run.life.lasting(), store.Backoff{Base: 20 * time.Millisecond, Cap: 2 * time.Second, Jitter: 0.5}.Delay(try))
	}
}

// lookFor reports whether the journal has what a transaction wrote to it that has ended.
func (s *Strand) lookFor(a *store.Append) (bool, error) {
	call, cancel := context.WithTimeout(s.run.life.lasting(), storeTimeout)
	defer cancel()
	st, e := s.run.node.store, &a.Entries[0]
	if err := st.AwaitTx(call, a.Lease.Job); err != nil {
		return false, err
	}
	found, err := st.Entries(call, store.JournalParams{Job: a.Lease.Job, After: e.Seq - 1, Limit: 1})
	if err != nil || len(found) == 0 {
		return false, err
	}
	return found[0].Seq == e.Seq && found[0].Path == e.Path && found[0].LeaseNumber == a.Lease.Number, nil
}

func failureOf(e *store.Entry) error {
	failure := &StepError{}
	if err := decodeEntry(e, failure); err != nil {
		return err
	}
	return failure
}

func encodeEntry(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // they are structs of plain fields
	}
	return data
}

func decodeEntry(e *store.Entry, v any) error {
	data, err := unpack(e)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("entry %d of the journal cannot be read: %w", e.Seq, err)
	}
	return nil
}
