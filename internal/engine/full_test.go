package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// decide makes a run record n decisions without a write of its own.
func decide(s *replay.Strand, n int) error {
	for range n {
		if _, err := s.Now(); err != nil {
			return err
		}
	}
	return nil
}

func nothingStep(context.Context, int) ([]byte, error) { return []byte(`1`), nil }

// writesAtOnce is how many entries one write has.
const writesAtOnce = 500

// TestLongAppendsAreCut: a long append of one run is written completely, in several transactions,
// so that others do not wait long.
func TestLongAppendsAreCut(t *testing.T) {
	for name, end := range map[string]func(s *replay.Strand) ([]byte, error){
		"before a step": func(s *replay.Strand) ([]byte, error) { return s.Step("last", replay.StepPolicy{}, nothingStep) },
		"at the end":    func(*replay.Strand) ([]byte, error) { return []byte(`1`), nil },
		"in a park": func(s *replay.Strand) ([]byte, error) {
			return nil, s.Sleep(await.Limit{Within: time.Minute, Set: true})
		},
		"in a failure": func(*replay.Strand) ([]byte, error) { return nil, &usercode.FailError{Err: errBoom} },
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				const decisions = 5*writesAtOnce + 7
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					s := r.Main()
					if err := decide(s, decisions); err != nil {
						return nil, err
					}
					return end(s)
				})
				most := 0
				b.st.hook(func(p *probe) {
					p.onApply = func(batch *store.Batch) error {
						for _, a := range batch.Appends {
							most = max(most, len(a.Entries))
						}
						return nil
					}
				})
				b.run()
				id := b.enqueue(b.job("k"))
				b.wait(id)
				if most > writesAtOnce {
					t.Errorf("a write of %d entries", most)
				}
				if rec := b.get(id); rec.Journal < decisions || rec.Attempt != 1 {
					t.Errorf("%d entries after %d decisions, attempts %+v", rec.Journal, decisions, rec.Attempts)
				}
			})
		})
	}
}

// TestChildrenGoWithTheirEntries: a child is in the same transaction as its entry, wherever a long
// append is cut.
func TestChildrenGoWithTheirEntries(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("child", ok)
		var mu sync.Mutex
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			if err := decide(s, writesAtOnce-3); err != nil {
				return nil, err
			}
			_, _, err := s.StartChildren("child", 20, func(int) (*store.Enqueue, error) {
				return b.job("child", func(e *store.Enqueue) { e.Job.Answers = true }), nil
			}, await.FanOut{})
			return nil, err
		})
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				for _, a := range batch.Appends {
					named := 0
					for _, e := range a.Entries {
						if e.Kind == store.EntryChild {
							named++
						}
					}
					if named != len(a.Enqueues) {
						t.Errorf("a write of %d entries names %d children and enqueues %d", len(a.Entries), named, len(a.Enqueues))
					}
				}
				return nil
			}
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
	})
}

func TestJournalThatIsFull(t *testing.T) {
	limit := replay.JournalLimit{Entries: 100}
	for name, c := range map[string]struct {
		limit replay.JournalLimit
		then  func(s *replay.Strand, err error) ([]byte, error)
		state store.State
	}{
		"fails the job": {limit, func(_ *replay.Strand, err error) ([]byte, error) { return nil, err }, store.Failed},
		"begins anew": {limit, func(*replay.Strand, error) ([]byte, error) {
			return nil, &usercode.ContinueError{Kind: "k", Args: []byte(`{}`)}
		}, store.Completed},
		"is full of bytes": {replay.JournalLimit{Bytes: 3000}, func(_ *replay.Strand, err error) ([]byte, error) {
			return nil, err
		}, store.Failed},
		"lets steps fail": {limit, func(s *replay.Strand, _ error) ([]byte, error) {
			return s.Step("more", replay.StepPolicy{}, nothingStep)
		}, store.Failed},
		"lets timers fail": {limit, func(s *replay.Strand, _ error) ([]byte, error) {
			return nil, s.Sleep(await.Limit{Within: time.Second, Set: true})
		}, store.Failed},
		"lets waits fail": {limit, func(s *replay.Strand, _ error) ([]byte, error) {
			_, err := s.Receive(&await.Signal{Name: "x"}, await.Limit{})
			return nil, err
		}, store.Failed},
		"lets choices fail": {limit, func(s *replay.Strand, _ error) ([]byte, error) {
			_, err := s.Select([]await.Thing{&await.Signal{Name: "x"}})
			return nil, err
		}, store.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			inBed(t, Config{MaxJournal: c.limit, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(b *bed) {
				undone := 0
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					s := r.Main()
					if again, err := isAgain(s); err != nil || again {
						return nil, err
					}
					err := s.OnFailure("undo", func(s *replay.Strand) error {
						_, err := s.Step("undo", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) { undone++; return nil, nil })
						return err
					})
					if err != nil {
						return nil, err
					}
					for range 1000 {
						ones := func(context.Context, int) ([]byte, error) { return bytes.Repeat([]byte(`1`), 20), nil }
						if _, err := s.Step("step", replay.StepPolicy{}, ones); err != nil {
							if !errors.Is(err, usercode.ErrJournalFull) || !strings.Contains(err.Error(), "ContinueAsNew") {
								t.Errorf("error: %v", err)
							}
							return c.then(s, err)
						}
					}
					return nil, errors.New("it was never full")
				})
				b.run()
				ended := b.wait(b.enqueue(b.job("k")))
				if ended.State != c.state || ended.State == store.Failed && (ended.Reason != store.ReasonTerminal || undone != 1) {
					t.Errorf("ended %v (%s: %s), undone %d times", ended.State, ended.Reason, ended.Error, undone)
				}
			})
			if n := strings.Count(log.String(), "half full"); n != 1 {
				t.Errorf("it was warned of %d times:\n%s", n, log.String())
			}
		})
	}
}

// TestFullJournalReplays: recorded entries stay valid, even if the limit is lowered.
func TestFullJournalReplays(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		runs := 0
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			s := r.Main()
			if runs++; runs == 2 {
				b.e.cfg.MaxJournal.Entries = 5
			}
			for range 20 {
				if _, err := s.Step("step", replay.StepPolicy{}, nothingStep); err != nil {
					return nil, err
				}
			}
			if runs == 1 {
				return nil, errBoom
			}
			return nil, nil
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
	})
}

// TestStepsInTransactionsFillTheJournal: like other steps.
func TestStepsInTransactionsFillTheJournal(t *testing.T) {
	inBed(t, Config{MaxJournal: replay.JournalLimit{Entries: 10}}, func(b *bed) {
		var steps int
		var full error
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			for full == nil {
				_, full = r.Main().StepTx("s", replay.StepPolicy{}, func(_ context.Context, _ int, commit func(store.Tx, []byte) error) error {
					tx := b.st.Store.(*model.Store).Begin() //nolint:errcheck,forcetypeassert // the model
					if err := commit(tx, nil); err != nil {
						return err
					}
					return tx.Commit()
				})
				if steps++; steps > 100 {
					return nil, nil
				}
			}
			return nil, nil
		})
		b.run()
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		if !errors.Is(full, usercode.ErrJournalFull) || steps != 11 {
			b.t.Errorf("step %d: %v", steps, full)
		}
	})
}
