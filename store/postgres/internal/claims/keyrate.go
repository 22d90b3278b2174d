package claims

import (
	"maps"
	"slices"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// The rates of keys. Of each key that has taken permits lately a row of key_rate says where its
// rate stands (internal/gcra, Key). A claim reads the rows of the gates of its jobs with what else
// it looks at there, after the rules are locked, and by the time of that moment, which the database
// tells; it lets through as many jobs of a key as there are permits, and writes the rows in one
// statement, in the transaction that takes the jobs. So what is rolled back takes nothing, and
// claims of one limit follow one another. Jobs that wait at a gate for its rate wait there for the
// time in its row, which an index finds; hand_on_gates puts as many of a key back as may start.

// key is the rate of the key of a gate in a claim.
type key struct {
	gcra.Key

	now      int64 // by the clock of the database
	kept     keptKey
	waits    bool // jobs wait there, as far as the claim has seen
	released int  // that wait no more, and may be claimed next
}

// keptKey is what is read of it. All are nil if the key has no rate; and all but the first three,
// if nothing is kept of it.
type keptKey struct {
	period, burst, since *int64
	tat, was, lookAt     *int64
	now                  int64
}

// columns are the places of the columns that gates_look ends with.
func (k *keptKey) columns() []any {
	return []any{&k.period, &k.burst, &k.since, &k.tat, &k.was, &k.lookAt, &k.now}
}

// looks are the arguments of gates_look.
func (g *gated) looks(q *inquiry, wants []int32) []any {
	return []any{q.ids, wants, q.places, q.limits, g.params.Namespace, g.params.Kinds, g.now, g.store.Injected()}
}

// freeAt is how many jobs run at a gate that has so many free places, those that were let through
// included, by its rate as the claim saw it first. The row that tells of the rate comes before
// those of jobs that wait.
func (g *gated) freeAt(id int64, free int, kept *keptKey) int {
	k := g.keys[id]
	switch {
	case k == nil && kept.period == nil:
		return free
	case k == nil:
		k = &key{kept: *kept, now: kept.now}
		k.Key = gcra.Stand(*kept.period, *kept.burst, pg.OptInt(kept.tat), pg.OptInt(kept.was), *kept.since, kept.now)
		g.keys[id] = k
	}
	return min(free, k.Free())
}

// wait notes that a job waits.
func (k *key) wait() {
	if k != nil {
		k.waits = true
	}
}

// release notes that of so many jobs that wait some do no more.
func (k *key) release(released, of int) {
	if k != nil {
		k.released += released
		k.waits = k.waits || of > released || k.kept.lookAt != nil
	}
}

// keep is the statement that writes where the rates stand, of those that have changed.
func (g *gated) keep() []pg.Statement {
	var gates, tats, periods, lookAt []int64
	for _, id := range slices.Sorted(maps.Keys(g.keys)) {
		k, at := g.keys[id], int64(0)
		taken := g.through[id]
		k.Take(taken)
		if k.waits {
			at = k.LookAt(k.now, k.released)
		}
		tat, period := k.now+k.Ahead, k.Period
		if k.Period == 0 || k.Ahead == 0 { // nothing was taken
			tat, period = pg.OptInt(k.kept.tat), pg.OptInt(k.kept.was)
		}
		if taken == 0 && tat == pg.OptInt(k.kept.tat) && period == pg.OptInt(k.kept.was) && at == pg.OptInt(k.kept.lookAt) {
			g.looksAt(at)
			continue
		}
		gates, tats, periods, lookAt = append(gates, id), append(tats, tat), append(periods, period), append(lookAt, at)
	}
	if gates == nil {
		return nil
	}
	return []pg.Statement{{Name: "key_rates_put", Args: []any{gates, tats, periods, lookAt}, Each: func(r pg.Row) error {
		var at *int64
		err := r.Scan(&at)
		g.looksAt(pg.OptInt(at))
		return err
	}}}
}

// looksAt notes when jobs are to be looked for that wait for their rate; 0: never.
func (g *gated) looksAt(at int64) {
	if t := pg.TimeOf(at); at > 0 && (g.lookAt.IsZero() || t.Before(g.lookAt)) {
		g.lookAt = t
	}
}
