package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// awaits is a durable handler that waits for a message "go" between two steps.
func awaits(_ context.Context, r Attempt) ([]byte, error) {
	strand := r.Main()
	step := func(context.Context, int) ([]byte, error) { return []byte(`1`), nil }
	if _, err := strand.Step("first", replay.StepPolicy{}, step); err != nil {
		return nil, err
	}
	if _, err := strand.Receive(&await.Signal{Name: "go"}, await.Limit{}); err != nil {
		return nil, err
	}
	return strand.Step("second", replay.StepPolicy{}, step)
}

// goOn sends the message that the handler waits for.
func (b *bed) goOn(id store.ID) {
	b.t.Helper()
	q := &store.Send{Job: id, Message: store.Message{Kind: store.MessageSignal, Name: "go"}}
	if err := errors.Join(b.e.Send(b.t.Context(), []*store.Send{q}), q.Err); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) failJournals(err error) {
	b.st.hook(func(p *probe) { p.onJournals = func() error { return err } })
}

// TestAReadThatFailsIsRepeated: an outage while a run reads what it remembers costs no attempt.
func TestAReadThatFailsIsRepeated(t *testing.T) {
	for name, err := range map[string]error{
		"away":       fmt.Errorf("%w: connection reset", store.ErrUnavailable),
		"no answer":  fmt.Errorf("reading: %w", context.DeadlineExceeded),
		"a failover": store.ErrReadOnly,
	} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				b.handle("k", awaits)
				b.run()
				ids := make([]store.ID, 3)
				for i := range ids {
					ids[i] = b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.MaxAttempts = 1 }))
				}
				synctest.Wait()
				b.failJournals(err)
				for _, id := range ids {
					b.goOn(id)
				}
				time.Sleep(20 * time.Second)
				for _, id := range ids {
					if s := b.get(id).State; s != store.Running {
						t.Errorf("a job whose journal cannot be read is %v", s)
					}
				}
				b.failJournals(nil)
				for _, id := range ids {
					b.expect(b.wait(id), store.Completed, "")
				}
			})
		})
	}
}

// TestAReadThatCannotSucceedEndsTheAttempt: what a repetition would not mend is an error of the
// attempt. It is never the last one: what the job remembers may be how it ends.
func TestAReadThatCannotSucceedEndsTheAttempt(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", awaits)
		b.run()
		id := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.MaxAttempts = 1 }))
		synctest.Wait()
		reads := 0
		b.st.hook(func(p *probe) {
			p.onJournals = func() error {
				if reads++; reads == 1 {
					return errBoom
				}
				return nil
			}
		})
		b.goOn(id)
		synctest.Wait()
		if rec := b.get(id); rec.State != store.Retryable || !strings.Contains(rec.Error, "reading the journal of job "+id.String()) {
			t.Errorf("the job is %v and says %q", rec.State, rec.Error)
		}
		b.expect(b.wait(id), store.Completed, "")
	})
}

// TestARunThatEndsDoesNotReadOn: nothing asks the database any more when no run waits.
func TestARunThatEndsDoesNotReadOn(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", awaits)
		b.run()
		id := b.enqueue(b.job("k"))
		synctest.Wait()
		asked := 0
		b.st.hook(func(p *probe) { p.onJournals = func() error { asked++; return store.ErrUnavailable } })
		b.goOn(id)
		time.Sleep(5 * time.Second)
		b.halt()
		synctest.Wait()
		before := asked
		if before < 3 {
			t.Errorf("the journal was asked for %d times", before)
		}
		time.Sleep(time.Minute)
		if asked != before {
			t.Errorf("it was asked for %d times after the node had left", asked-before)
		}
	})
}
