package sqlite_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

const oneDay = 24 * time.Hour

// aged is a file with a clock of its own, as its stores and a person with a database tool see it.
type aged struct {
	*testing.T

	path  string
	clock *storetest.Clock
	store store.Store
	db    *sql.DB
	node  int64
	seq   int64
}

func openAged(t *testing.T) *aged {
	a := &aged{T: t, path: file(t), clock: storetest.NewClock()}
	a.store = a.open()
	a.db = database(t, a.path)
	a.node = join(t, a.store)
	return a
}

// open opens one more store of the file, as another process would.
func (a *aged) open() store.Store {
	source := sqlite.File(a.path)
	source.Clock, source.Synchronous = a.clock.Now, sqlite.Normal
	return open(a.T, source)
}

func (a *aged) count(query string) (n int) {
	a.Helper()
	if err := a.db.QueryRowContext(a.Context(), query).Scan(&n); err != nil {
		a.Fatal(err)
	}
	return n
}

// add enqueues a job to a queue.
func (a *aged) add(s store.Store, queue string, change ...func(*store.Enqueue)) store.ID {
	a.Helper()
	q := newJob()
	q.Job.Queue = queue
	for _, f := range change {
		f(q)
	}
	if err := store.ApplyEach(a.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
		a.Fatal(err, q.Err)
	}
	return q.Job.ID
}

func (a *aged) claim(limit int) []store.Claimed {
	a.Helper()
	a.seq += 10
	claimed, err := claim(a.Context(), a.store, a.node, a.seq, limit)
	if err != nil {
		a.Fatal(err)
	}
	return claimed
}

// end ends all runs of a claim.
func (a *aged) end(claimed []store.Claimed, o store.Outcome) {
	a.Helper()
	batch := &store.Batch{}
	for _, c := range claimed {
		o := o
		o.Lease, o.HasOrdering = c.Lease, c.Job.OrderingKey != ""
		batch.Outcomes = append(batch.Outcomes, &o)
	}
	if err := store.ApplyEach(a.Context(), a.store, batch); err != nil {
		a.Fatal(err)
	}
}

// retain removes what is over until there is nothing left, and returns how often it had to be
// asked.
func (a *aged) retain(params store.Retention) (calls int) {
	a.Helper()
	for more := true; more; calls++ {
		retained, err := a.store.Retain(a.Context(), params)
		if err != nil || calls > 1000 {
			a.Fatal(calls, err)
		}
		more = retained.More
	}
	return calls
}

func (a *aged) queues() (names []string) {
	a.Helper()
	queues, err := a.store.Queues(a.Context(), "default")
	if err != nil {
		a.Fatal(err)
	}
	for _, q := range queues {
		names = append(names, q.Name)
	}
	return names
}

// failed returns the jobs that failed.
func (a *aged) failed() (ids []store.ID) {
	a.Helper()
	page, err := a.store.List(a.Context(), store.ListParams{Limit: 1000, Filter: store.Filter{States: []store.State{store.Failed}}})
	if err != nil {
		a.Fatal(err)
	}
	for _, r := range page.Jobs {
		ids = append(ids, r.ID)
	}
	return ids
}
