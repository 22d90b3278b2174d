package replay

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// TestToldAsJudged: what is around a handler is told of its error that the job goes on later if,
// and only if, it is judged so. Else it is the same error.
func TestToldAsJudged(t *testing.T) {
	snooze := &usercode.SnoozeError{Delay: time.Hour}
	returned := map[string]error{
		"an error": errBoom, "fail": &usercode.FailError{Err: errBoom}, "fail with a snooze": &usercode.FailError{Err: snooze},
		"cancel": &usercode.CancelError{}, "snooze and cancel": errors.Join(snooze, &usercode.CancelError{}),
		"snooze": fmt.Errorf("not yet: %w", snooze), "hand over": &usercode.HandOverError{},
		"continue": &usercode.ContinueError{Kind: "k"}, "continue as another": &usercode.ContinueError{Kind: "other"},
		"a full journal and a snooze": errors.Join(snooze, usercode.ErrJournalFull),
		"what is no snooze":           fmt.Errorf("mine: %w", usercode.ErrParked), "retry": &usercode.RetryError{Err: snooze},
	}
	causes := map[string]error{
		"goes on": nil, "cancelled": usercode.ErrCancelled, "late": usercode.ErrTimeout, "silent": usercode.ErrHeartbeat,
		"stopped": usercode.ErrShutdown,
	}
	for what, err := range returned {
		for when, cause := range causes {
			for _, spoiled := range []bool{false, true} {
				a := newAttempt(t)
				var told error
				o := a.call(func(s *Strand) ([]byte, error) {
					if _, err := s.Now(); err != nil {
						return nil, err
					}
					if spoiled {
						s.run.state.Load().fault.err = s.misuse("used as it must not")
					}
					if cause != nil {
						s.run.Cancel(cause)
					}
					told = s.Told(err)
					return nil, told
				})
				later := o.State == store.Scheduled || o.State == store.Waiting || o.State == store.Available && o.Continue != nil
				if errors.Is(told, usercode.ErrParked) != later {
					t.Errorf("%s, %s, spoiled: %v: it is told %v, and judged %s", what, when, spoiled, told, o.State)
				}
				_, isFail := errors.AsType[*usercode.FailError](err)
				_, isFailTold := errors.AsType[*usercode.FailError](told)
				if told.Error() != err.Error() || errors.Is(told, errBoom) != errors.Is(err, errBoom) || isFail != isFailTold {
					t.Errorf("%s is not told as it is: %v", what, told)
				}
			}
		}
	}
}

// TestToldOfAnEndThatWasDecided: the run comes back to undo, and what its handler returns then is
// no end.
func TestToldOfAnEndThatWasDecided(t *testing.T) {
	a := newAttempt(t)
	a.journal.Entries = []store.Entry{{Seq: 1, Kind: store.EntryClosing, Path: "~", Data: []byte(`{"state":"failed","error":"boom"}`)}}
	a.next()
	for _, err := range []error{nil, errBoom, &usercode.SnoozeError{}} {
		o := a.call(func(s *Strand) ([]byte, error) {
			told := s.Told(s.Told(err))
			if !errors.Is(told, usercode.ErrParked) || told.Error() == "" || errors.Is(told, errBoom) != errors.Is(err, errBoom) {
				t.Errorf("of %v it is told %v", err, told)
			}
			return nil, told
		})
		if o.State != store.Failed || o.Error != "boom" {
			t.Errorf("%v: %+v", err, o)
		}
	}
}
