package replay

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

var errBoom = errors.New("boom")

// complete ends the job in a transaction, and commits that, or not.
func (a *attempt) complete(s *Strand, result string, commit bool) error {
	err := s.EndTx(VerbCompleteTx, nil, journal.Ended{State: store.Completed, Result: []byte(result)})
	if err == nil && commit {
		a.commit()
	}
	a.open = nil
	return err
}

// fail does the same with a failure.
func (a *attempt) fail(s *Strand, text string) error {
	err := s.EndTx(VerbFailTx, nil, journal.Ended{State: store.Failed, Reason: store.ReasonTerminal, Error: text})
	if err == nil {
		a.commit()
	}
	return err
}

func (a *attempt) kinds() (kinds []store.EntryKind) {
	for i, e := range a.journal.Entries {
		if e.Seq != int64(i)+1 {
			a.t.Errorf("entry %d has the number %d", i+1, e.Seq)
		}
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// TestEndTxDecides: what the handler does after the commit changes nothing.
func TestEndTxDecides(t *testing.T) {
	for name, then := range map[string]func(s *Strand) ([]byte, error){
		"returns":       func(*Strand) ([]byte, error) { return []byte(`"other"`), nil },
		"fails":         func(*Strand) ([]byte, error) { return nil, errBoom },
		"fails forever": func(*Strand) ([]byte, error) { return nil, &usercode.FailError{Err: errBoom} },
		"snoozes":       func(*Strand) ([]byte, error) { return nil, &usercode.SnoozeError{Delay: time.Hour} },
		"hands over":    func(*Strand) ([]byte, error) { return nil, &usercode.HandOverError{} },
		"continues":     func(*Strand) ([]byte, error) { return nil, &usercode.ContinueError{Kind: "k"} },
		"panics":        func(*Strand) ([]byte, error) { panic("boom") },
		"ends":          func(*Strand) ([]byte, error) { runtime.Goexit(); return nil, nil },
		"goes on": func(s *Strand) ([]byte, error) {
			_, err := s.Now()
			if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "after the handler had ended the job") {
				t.Errorf("an operation after the end: %v", err)
			}
			return nil, err
		},
		"is cancelled": func(s *Strand) ([]byte, error) {
			s.run.Cancel(usercode.ErrCancelled)
			return nil, usercode.ErrCancelled
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			o := a.call(func(s *Strand) ([]byte, error) {
				if _, err := s.Now(); err != nil { // it is stored with the end
					return nil, err
				}
				if err := a.complete(s, `"done"`, true); err != nil {
					t.Error(err)
				}
				return then(s)
			})
			if o.State != store.Completed || string(o.Result) != `"done"` || o.Wait != nil || o.Continue != nil || !o.Durable || o.InTx {
				t.Errorf("%+v", o)
			}
			if kinds := a.kinds(); len(kinds) != 2 || kinds[1] != store.EntryEnded {
				t.Errorf("the journal has %v", kinds)
			}
		})
	}
}

// TestEndTxRolledBack: the run goes as its handler says, and what was pending is stored.
func TestEndTxRolledBack(t *testing.T) {
	for name, returned := range map[string]error{"completes": nil, "fails": errBoom} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			a.unsure = 3
			o := a.call(func(s *Strand) ([]byte, error) {
				if _, err := s.Now(); err != nil {
					return nil, err
				}
				if err := a.complete(s, `"done"`, false); err != nil {
					t.Error(err)
				}
				return []byte(`"other"`), returned
			})
			switch {
			case len(a.said) != 3:
				t.Errorf("it said %q", a.said)
			case returned != nil && (o.State != store.Retryable || o.Error != "boom" || len(a.kinds()) != 0):
				t.Errorf("%+v, %v", o, a.kinds())
			case returned == nil && (o.State != store.Completed || string(o.Result) != `"other"` || len(a.kinds()) != 1):
				t.Errorf("%+v, %v", o, a.kinds())
			}
		})
	}
}

// TestEndTxIsReadByTheNextAttempt, which does not call the handler, whatever the claim says.
func TestEndTxIsReadByTheNextAttempt(t *testing.T) {
	for name, change := range map[string]func(c *store.Claimed){
		"plain":     func(*store.Claimed) {},
		"cancelled": func(c *store.Claimed) { c.CancelRequested = true },
		"late":      func(c *store.Claimed) { c.Job.Options.Deadline = time.Now().Add(-time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t)
			a.call(func(s *Strand) ([]byte, error) {
				if err := a.complete(s, `"done"`, true); err != nil {
					t.Error(err)
				}
				return nil, nil
			})
			a.next()
			change(&a.claimed)
			o := a.call(func(*Strand) ([]byte, error) {
				t.Error("the handler was called")
				return nil, nil
			})
			if o.State != store.Completed || string(o.Result) != `"done"` {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestEndTxTwice: a transaction that was rolled back is repeated; one that was committed is not
// taken back, even if the handler does not know that it was.
func TestEndTxTwice(t *testing.T) {
	for _, committed := range []bool{false, true} {
		a := newAttempt(t)
		o := a.call(func(s *Strand) ([]byte, error) {
			if err := a.complete(s, `"first"`, committed); err != nil {
				t.Error(err)
			}
			err := a.fail(s, "second")
			if committed != errors.Is(err, store.ErrConflict) || !committed && err != nil {
				t.Errorf("the second: %v", err)
			}
			return nil, err
		})
		want := store.Failed
		if committed {
			want = store.Completed
		}
		if o.State != want {
			t.Errorf("%v: %+v", committed, o)
		}
	}
}

// TestEndTxMisused: it belongs into the handler, as its last operation.
func TestEndTxMisused(t *testing.T) {
	for name, misuse := range map[string]func(t *testing.T, a *attempt, s *Strand) error{
		"in a step": func(_ *testing.T, a *attempt, s *Strand) (err error) {
			_, _ = s.Step("step", StepPolicy{}, func(context.Context, int) ([]byte, error) {
				err = a.complete(s, `1`, true)
				return nil, nil
			})
			return err
		},
		"in a function": func(t *testing.T, a *attempt, s *Strand) (err error) {
			f, began := s.Go("function", func(s *Strand) (any, error) { return nil, a.complete(s, `1`, true) })
			if began != nil {
				t.Fatal(began)
			}
			_, err = s.Await(f)
			return err
		},
		"beside a function": func(t *testing.T, a *attempt, s *Strand) (err error) {
			sleep := func(s *Strand) (any, error) { return nil, s.Sleep(await.Limit{Within: time.Hour, Set: true}) }
			if _, err := s.Go("function", sleep); err != nil {
				t.Fatal(err)
			}
			return a.complete(s, `1`, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAttempt(t)
				o := a.call(func(s *Strand) ([]byte, error) {
					if err := misuse(t, a, s); !errors.Is(err, store.ErrInvalid) {
						t.Errorf("%v", err)
					}
					return nil, nil
				})
				if o.State != store.Retryable || len(a.journal.Entries) != 0 {
					t.Errorf("%+v, %v", o, a.kinds())
				}
			})
		})
	}
}

// TestEndTxOfOtherCode is held: the journal has what the code does not ask for.
func TestEndTxOfOtherCode(t *testing.T) {
	a := newAttempt(t)
	a.call(func(s *Strand) ([]byte, error) {
		return s.Step("step", StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, nil })
	})
	a.next()
	o := a.call(func(s *Strand) ([]byte, error) {
		err := a.complete(s, `1`, true)
		t.Errorf("it returned, %v", err)
		return nil, err
	})
	if o.State != store.Waiting || o.Reason != store.ReasonNondeterminism {
		t.Errorf("%+v", o)
	}
}

// TestFailTxCompensates: the failure is decided, and what was done is undone, by this run or by the
// next one.
func TestFailTxCompensates(t *testing.T) {
	for _, here := range []bool{true, false} {
		a := newAttempt(t)
		undone := 0
		handler := func(s *Strand) ([]byte, error) {
			if err := s.OnFailure("undo", func(*Strand) error { undone++; return nil }); err != nil {
				return nil, err
			}
			err := a.fail(s, "in a transaction")
			if here && err != nil {
				t.Error(err)
			}
			if !here && err == nil {
				runtime.Goexit()
			}
			return nil, err
		}
		o := a.call(handler)
		if !here {
			if o.State != store.Available || o.InTx || undone != 0 {
				t.Errorf("given up after the commit: %+v, undone %d times", o, undone)
			}
			a.next()
			a.claimed.Job.Closing = true
			o = a.call(handler)
		}
		if o.State != store.Failed || o.Reason != store.ReasonTerminal || o.Error != "in a transaction" || undone != 1 {
			t.Errorf("%v: %+v, undone %d times", here, o, undone)
		}
		if kinds := a.kinds(); len(kinds) != 2 || kinds[0] != store.EntryClosing || kinds[1] != store.EntryCompensated {
			t.Errorf("%v: the journal has %v", here, kinds)
		}
	}
}

// TestEndTxLeftOpen: a transaction that outlives its handler is left to the next run, which finds
// it over.
func TestEndTxLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t)
		began := time.Now()
		o := a.call(func(s *Strand) ([]byte, error) {
			return nil, s.EndTx(VerbCompleteTx, nil, journal.Ended{State: store.Completed})
		})
		if o.State != store.Available || o.Reason != store.ReasonReleased || !o.InTx || !o.Durable {
			t.Errorf("%+v", o)
		}
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("it waited %v, not until it was given up", waited)
		}
	})
}

// TestGivenUpInEndTx: a run that is taken from its handler in the middle of EndTx does not end
// otherwise than the transaction may say.
func TestGivenUpInEndTx(t *testing.T) {
	a := newAttempt(t)
	var given *store.Outcome
	a.inTx = func(w *store.Append) error {
		given = &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled}
		if last, _ := a.run.FinishJournal(given); last != nil {
			t.Errorf("%d entries are stored beside the transaction", len(last.Entries))
		}
		a.open = w
		return nil
	}
	a.call(func(s *Strand) ([]byte, error) {
		err := a.complete(s, `1`, true)
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%v", err)
		}
		return nil, err
	})
	if given.State != store.Available || !given.InTx || !given.Durable {
		t.Errorf("%+v", given)
	}
}

// TestEndTxWithoutItsLease ends the run with nothing to write, and lets the handler roll back.
func TestEndTxWithoutItsLease(t *testing.T) {
	a := newAttempt(t)
	a.inTx = func(w *store.Append) error { w.Err = store.ErrLeaseLost; return nil }
	returned := false
	o := a.call(func(s *Strand) ([]byte, error) {
		err := a.complete(s, `1`, true)
		returned = true
		if !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%v", err)
		}
		return nil, err
	})
	if o != nil || !returned {
		t.Errorf("%+v, %v", o, returned)
	}
}

// TestUnreadIsNotDecided: a run that is given up before its journal was read ends nothing, since
// that may say how.
func TestUnreadIsNotDecided(t *testing.T) {
	a := newAttempt(t)
	a.next()
	run := &Run{}
	run.Init(a, &a.claimed)
	o := &store.Outcome{State: store.Failed, Reason: store.ReasonTimeout}
	if run.FinishJournal(o); o.State != store.Retryable {
		t.Errorf("%+v", o)
	}
}

// TestHandOver parks the job without anything to wake it but its limit.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limit := range []time.Duration{0, time.Hour} {
			a := newAttempt(t)
			o := a.call(func(s *Strand) ([]byte, error) {
				if _, err := s.Now(); err != nil {
					return nil, err
				}
				if limit > 0 {
					if err := s.OnFailure("undo", func(*Strand) error { return nil }); err != nil {
						return nil, err
					}
				}
				return nil, &usercode.HandOverError{Limit: limit}
			})
			w := o.Wait
			if o.State != store.Waiting || w == nil || !w.HandedOver || w.Kinds != 0 || w.Compensates != (limit > 0) {
				t.Fatalf("%+v, %+v", o, w)
			}
			if limit == 0 && !w.Until.IsZero() || limit > 0 && !w.Until.Equal(time.Now().Add(limit)) {
				t.Errorf("%v: until %v", limit, w.Until)
			}
			if len(a.kinds()) != 1 {
				t.Errorf("the journal has %v", a.kinds())
			}
		}
		a := newAttempt(t)
		o := a.call(func(s *Strand) ([]byte, error) {
			return s.Step("step", StepPolicy{}, func(context.Context, int) ([]byte, error) { return nil, &usercode.HandOverError{} })
		})
		if o.State != store.Retryable || !strings.Contains(o.Error, "HandOver") {
			t.Errorf("a step that hands over: %+v", o)
		}
	})
}
