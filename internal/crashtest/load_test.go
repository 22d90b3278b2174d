package crashtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// load is what the jobs of a test are, as far as they are enqueued, and what was asked about them.
type load struct {
	c       *cluster
	random  *rand.Rand
	plan    map[int]work
	unique  []work
	clients [3]*holdfast.Client
	caller  *caller

	jobs    map[holdfast.ID]int // enqueued
	undone  map[holdfast.ID]int // enqueued in transactions that were rolled back
	cancels map[holdfast.ID]request
	retries map[holdfast.ID]request
}

// request is what came of the one cancel of a job, or of the one retry.
type request struct {
	state store.State // what the cancel answered; what the job was when it was retried
	lease int64       // the job's last one then
}

// enqueue enqueues jobs, those that are meant for it in transactions of the caller's; and at the
// same time, from two other clients, all unique ones so far once more.
func (l *load) enqueue(jobs []work) {
	l.c.t.Helper()
	var plain, inTx []work
	for _, w := range jobs {
		l.plan[w.N] = w
		if w.Child != 0 {
			l.plan[w.Child] = child(w)
		}
		if w.Unique {
			l.unique = append(l.unique, w)
		}
		if w.Tx {
			inTx = append(inTx, w)
		} else {
			plain = append(plain, w)
		}
	}
	var found [4]map[holdfast.ID]int
	var clients sync.WaitGroup
	for i, list := range [...][]work{plain, l.unique, l.unique} {
		clients.Go(func() { found[i] = l.c.enqueue(l.clients[i], list) })
	}
	clients.Go(func() { found[3] = l.transact(inTx) })
	clients.Wait()
	for _, ids := range found {
		maps.Copy(l.jobs, ids)
	}
}

// transact enqueues jobs in transactions of the caller's, a few in each. Before each of them comes
// one like it that is rolled back.
func (l *load) transact(jobs []work) map[holdfast.ID]int {
	enqueued := map[holdfast.ID]int{}
	for part := range slices.Chunk(jobs, 4) {
		undone := slices.Clone(part)
		for i := range undone {
			undone[i].N += firstUndone
		}
		for _, try := range []struct {
			jobs   []work
			commit bool
			ids    map[holdfast.ID]int
		}{{undone, false, l.undone}, {part, true, enqueued}} {
			ids, err := l.caller.enqueue(l.c.t.Context(), l.clients[0], try.jobs, try.commit)
			if err != nil {
				l.c.t.Errorf("enqueue in a transaction: %v", err)
			}
			maps.Copy(try.ids, ids)
		}
	}
	return enqueued
}

// ask cancels half of the jobs that are to be cancelled, and retries those that have come to their
// end and are to be retried.
func (l *load) ask() {
	l.c.t.Helper()
	l.cancel(func() bool { return l.random.IntN(2) == 0 })
	l.retry()
}

// cancel cancels some of the jobs that are to be cancelled and have not been.
func (l *load) cancel(some func() bool) {
	l.c.t.Helper()
	var ids []holdfast.ID
	for _, id := range slices.SortedFunc(maps.Keys(l.jobs), l.byPlace) {
		_, retried := l.retries[id]
		if _, asked := l.cancels[id]; l.plan[l.jobs[id]].Cancel && !asked && !retried && some() {
			ids = append(ids, id)
		}
	}
	results, err := l.c.client.Cancel(l.c.t.Context(), "as planned", ids...)
	if err != nil {
		l.c.t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] {
			l.c.t.Errorf("the answer to the cancel of job %s is %+v", ids[i], r)
		}
		l.cancels[ids[i]] = request{state: r.State, lease: l.c.record(ids[i]).LeaseNumber}
	}
}

// cancelRunning cancels a few jobs on nodes that nobody kills any more, while they run: they end
// only if their handlers are told.
func (l *load) cancelRunning() {
	l.c.t.Helper()
	l.cancel(func() bool { return true }) // those that hold slots
	left := map[int]bool{}
	var jobs []work
	for i := range 4 {
		jobs = append(jobs, work{N: firstLast + i, Cancel: true, Waits: true})
		left[firstLast+i] = true
	}
	from := l.c.counted()
	l.enqueue(jobs)
	l.c.until("the last jobs run", func() bool {
		for _, e := range l.c.effects(from) {
			delete(left, e.N)
		}
		return len(left) == 0
	})
	l.cancel(func() bool { return true })
}

// retry retries the jobs that are to be retried and have come to their end. It reports whether
// there were any.
func (l *load) retry() bool {
	l.c.t.Helper()
	var ids []holdfast.ID
	for _, over := range l.c.list(store.Filter{States: []store.State{store.Failed, store.Cancelled}}, 0) {
		if _, asked := l.retries[over.ID]; l.plan[l.jobs[over.ID]].Again && !asked {
			ids = append(ids, over.ID)
			l.retries[over.ID] = request{state: over.State, lease: over.LeaseNumber}
		}
	}
	results, err := l.c.client.Retry(l.c.t.Context(), "", ids...)
	if err != nil {
		l.c.t.Fatal(err)
	}
	for i, r := range results {
		if r.Err != nil || r.Job != ids[i] || r.State != store.Available {
			l.c.t.Errorf("the answer to the retry of job %s is %+v", ids[i], r)
		}
	}
	return len(ids) > 0
}

// waiting is how many jobs run until they are cancelled, and have not been.
func (l *load) waiting() (n int) {
	for id, place := range l.jobs {
		if _, asked := l.cancels[id]; l.plan[place].Waits && !asked {
			n++
		}
	}
	return n
}

func (l *load) byPlace(a, b holdfast.ID) int { return l.jobs[a] - l.jobs[b] }

// finish asks all that is to be asked, waits until everything has finished, and returns the
// history.
func (l *load) finish() history {
	l.c.t.Helper()
	l.cancel(func() bool { return true })
	for l.c.settled() && l.retry() {
		continue
	}
	notes, err := l.caller.notes(l.c.t.Context())
	if err != nil {
		l.c.t.Fatal(err)
	}
	retried, err := l.caller.retried(l.c.t.Context())
	if err != nil {
		l.c.t.Fatal(err)
	}
	return history{
		plan: l.plan, enqueued: l.jobs, undone: l.undone, notes: notes, cancels: l.cancels, retries: l.retries, retried: retried,
		effects: l.c.effects(0), records: l.c.records(), deaths: l.c.deaths(), rules: l.c.rules(),
	}
}

// rules are what the database promises.
func (c *cluster) rules() rules {
	if strings.HasPrefix(c.config.Database, "sqlite:") {
		return rules{dead: c.config.Dead, killIsKnown: true}
	}
	// Its nodes tell its time by their own clocks, and what the clock of one finds due the others
	// take as due. A store that opens takes a reading of the clock for which it waited two seconds,
	// so on a slow machine each of two nodes may be off by one, to either side.
	return rules{dead: c.config.Dead, leeway: 2 * time.Second}
}

// slowNodes lists the nodes that were declared dead while their processes lived.
func (h history) slowNodes() (slow []string) {
	for _, id := range slices.Sorted(maps.Keys(h.deaths)) {
		if d := h.deaths[id]; d.slow {
			slow = append(slow, fmt.Sprintf("%s (node %d)", d.name, id))
		}
	}
	return slow
}
