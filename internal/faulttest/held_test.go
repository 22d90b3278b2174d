package faulttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// held is a database on which somebody keeps a transaction open for as long as a test likes, a node
// that works meanwhile, and another client.
type held struct {
	t        *testing.T
	db       *database
	pool     *pgxpool.Pool // of the owner of the database
	hf       *holdfast.Client
	producer *holdfast.Client
	others   *others
	tx       store.Tx
	sql      pgx.Tx            // the same
	end      func(commit bool) // ends the transaction

	begun   time.Time
	waiting []*waiting
}

// waiting is somebody who needs what the transaction holds.
type waiting struct {
	what string
	done chan struct{}
	err  error
	told bool
}

// story is what is held, and what is seen of it.
type story struct {
	// register registers the handlers before the node runs.
	register func(h *held)
	// open lets the transaction do something and not end. It starts those who wait for it.
	open func(h *held)
	// lasts is how long it is held at the least.
	lasts time.Duration
	// after looks at what has become of it.
	after func(h *held, committed bool)
}

// whileHeld tells a story with a transaction that commits in the end, and with one that is
// rolled back. In between hundreds of jobs of others go by, none of which waits for it or
// fails.
func whileHeld(t *testing.T, tell func() story) {
	t.Helper()
	for _, commits := range []bool{true, false} {
		t.Run(map[bool]string{true: "commit", false: "rollback"}[commits], func(t *testing.T) {
			t.Parallel()
			s := tell()
			h := newHeld(t)
			s.register(h)
			work(t, h.hf)
			h.begin(s.open)
			h.others.pass(h.hf, patience)
			if left := s.lasts - time.Since(h.begun); left > 0 {
				linger(t.Context(), left)
				h.others.pass(h.hf, patience)
			}
			h.check()
			took := time.Since(h.begun)
			h.end(commits)
			if h.settle(took); !t.Failed() {
				s.after(h, commits)
			}
		})
	}
}

func newHeld(t *testing.T) *held {
	t.Helper()
	db := onPostgres(t)
	h := &held{t: t, db: db, pool: pool(t, db.url), hf: db.open(t), producer: db.open(t)}
	h.others = newOthers(t, h.hf, h.producer)
	return h
}

// begin opens the transaction, after the lanes of the others have been made: who makes a lane would
// have to wait for nobody either, but that is another story.
func (h *held) begin(open func(h *held)) {
	h.t.Helper()
	tx, err := h.pool.Begin(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	var once sync.Once
	h.end = func(commit bool) {
		once.Do(func() {
			ctx := context.WithoutCancel(h.t.Context())
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			if err := end(ctx); err != nil {
				h.t.Errorf("ending the caller's transaction: %v", err)
			}
		})
	}
	h.t.Cleanup(func() { h.end(false) })
	h.begun = time.Now()
	h.tx, h.sql = postgres.Tx(tx), tx
	open(h)
}

// waits starts an operation that needs what is held. It may wait until the transaction ends,
// and must not fail.
func (h *held) waits(what string, do func(ctx context.Context) error) {
	w := &waiting{what: what, done: make(chan struct{})}
	h.waiting = append(h.waiting, w)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	go func() {
		defer close(w.done)
		w.err = do(ctx)
	}()
	h.t.Cleanup(func() {
		cancel()
		<-w.done
	})
}

// patienceOfEnqueues is how long an enqueue is repeated, and so how long one may wait.
const patienceOfEnqueues = 15 * time.Second

// check looks at those who wait, while the transaction is still open.
func (h *held) check() {
	h.t.Helper()
	for _, w := range h.waiting {
		select {
		case <-w.done:
			if w.err != nil && (time.Since(h.begun) < patienceOfEnqueues || !errors.Is(w.err, holdfast.ErrUnavailable)) {
				h.t.Errorf("%s failed while the transaction was open: %v", w.what, w.err)
				w.told = true
			}
		default:
		}
	}
}

// settle waits for those who waited.
func (h *held) settle(took time.Duration) {
	h.t.Helper()
	for _, w := range h.waiting {
		receive(h.t, w.what+" ends after the transaction", w.done)
		if w.err != nil && !w.told && took < patienceOfEnqueues {
			h.t.Errorf("%s, which waited for %v: %v", w.what, took.Round(time.Millisecond), w.err)
		}
	}
}

// endsAs waits for the result of a job.
func endsAs[Out comparable](h *held, job *holdfast.Job[Out], want Out) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if got, err := job.Wait(ctx); err != nil || got != want {
		h.t.Errorf("it has come to %v, %v, want %v: %s", got, err, want, told(get(h.t, h.producer, job.ID)))
	}
}

// TestHeldUniqueKey keeps an EnqueueTx of a unique key open while others want the same key.
func TestHeldUniqueKey(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		var mu sync.Mutex
		var holder *holdfast.Job[int]
		var same []*holdfast.Job[int]
		key := []holdfast.EnqueueOption{holdfast.Unique{ByKey: "held"}, holdfast.Delay(time.Hour)}
		return story{
			register: func(*held) {},
			open: func(h *held) {
				var err error
				if holder, err = otherPlain.EnqueueTx(h.t.Context(), h.producer, h.tx, 1, key...); err != nil {
					h.t.Fatal(err)
				}
				for i := range 10 {
					c := []*holdfast.Client{h.hf, h.producer}[i%2]
					h.waits(fmt.Sprint("enqueue ", i, " of the same key"), func(ctx context.Context) error {
						job, err := otherPlain.Enqueue(ctx, c, 2, key...)
						mu.Lock()
						defer mu.Unlock()
						same = append(same, job)
						return err
					})
				}
			},
			after: func(h *held, committed bool) {
				inserted := map[holdfast.ID]bool{}
				for _, job := range same {
					switch {
					case job == nil: // its error is told already
					case !job.Existing:
						inserted[job.ID] = true
					case committed && job.ID != holder.ID:
						h.t.Errorf("an enqueue of the same key found job %s instead of %s", job.ID, holder.ID)
					}
				}
				want := 1
				if committed {
					want = 0
				}
				if len(inserted) != want {
					h.t.Errorf("%d enqueues of the same key inserted a job, want %d", len(inserted), want)
				}
			},
		}
	})
}

// TestHeldReplace keeps an EnqueueTx open that has replaced a job in the line of an ordering
// key, while the turn of the key comes to it.
func TestHeldReplace(t *testing.T) {
	t.Parallel()
	whileHeld(t, func() story {
		line := holdfast.NewKind[int, int]("line")
		gate, running := make(chan struct{}), make(chan struct{}, 1)
		var first, replaced, last *holdfast.Job[int]
		inLine := holdfast.OrderingKey("held")
		unique := holdfast.Unique{ByKey: "replaced", OnConflict: store.Replace}
		return story{
			register: func(h *held) {
				register(h.t, h.hf, line, func(run *holdfast.Run, n int) (int, error) {
					if n == 1 {
						running <- struct{}{}
						select {
						case <-gate:
						case <-run.Done():
							return 0, run.Err()
						}
					}
					return n, nil
				})
			},
			open: func(h *held) {
				first = enqueue(h.t, h.producer, line, 1, inLine)
				receive(h.t, "the first of the line runs", running)
				replaced = enqueue(h.t, h.producer, line, 2, inLine, unique)
				last = enqueue(h.t, h.producer, line, 3, inLine)
				job, err := line.EnqueueTx(h.t.Context(), h.producer, h.tx, 22, inLine, unique)
				if err != nil || !job.Replaced || job.ID != replaced.ID {
					h.t.Fatalf("replacing a job in a line: %+v, %v", job, err)
				}
				close(gate)
				h.waits("the end of the first of the line", func(ctx context.Context) error {
					_, err := first.Wait(ctx)
					return err
				})
			},
			after: func(h *held, committed bool) {
				want := 2
				if committed {
					want = 22
				}
				endsAs(h, replaced, want)
				endsAs(h, last, 3)
			},
		}
	})
}
