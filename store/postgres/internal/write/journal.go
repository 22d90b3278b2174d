package write

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/locks"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/updates"
)

// checkAppend returns why an append can never be written. What else may be wrong with its enqueues
// is found where all enqueues are prepared.
func checkAppend(a *store.Append) error {
	if err := a.CheckEntries(); err != nil {
		return err
	}
	return a.CheckChildren()
}

// isPossible reports whether the append can be written at all, and sets its error.
func (a *appending) isPossible() bool {
	if a.Err = checkAppend(a.Append); !IsPossible(a.Lease) {
		a.Err = store.LostLease(a.Lease.Job)
	}
	return a.Err == nil
}

// isPrepared reports whether all of the append's enqueues are valid; it has the error of one that
// is not.
func (a *appending) isPrepared() bool {
	for _, q := range a.Enqueues {
		if a.Err = q.Err; a.Err != nil {
			return false
		}
	}
	return true
}

// fence is the statement after which the leases of appends can be looked at, and the nodes keep
// them until the transaction ends.
func fence(appends []*appending) pg.Statement {
	var nodes []int64
	for _, a := range appends {
		nodes = append(nodes, a.Lease.Node)
	}
	slices.Sort(nodes)
	return pg.Statement{Name: "fence", Args: []any{slices.Compact(nodes)}}
}

// writing are the statements that write appends without their enqueues. They fail with
// pg.CodeRefused if not all of their leases live, and with pg.CodeUnique if an entry is there.
func writing(appends []*appending, now int64) []pg.Statement {
	leases := make([]store.Lease, 0, len(appends))
	n := 0
	for _, a := range appends {
		leases = append(leases, a.Lease)
		n += len(a.Entries)
	}
	slices.SortFunc(leases, pg.CompareLeases)
	leases = slices.CompactFunc(leases, func(a, b store.Lease) bool { return a == b })
	g := groupLeases(len(leases), func(i int) store.Lease { return leases[i] })
	ids, seqs, numbers, kinds := make([]pgtype.UUID, 0, n), make([]int64, 0, n), make([]int64, 0, n), make([]int32, 0, n)
	paths, names := make([]string, 0, n), make([]*string, 0, n)
	refs, codecs, data, took := make([]*int64, 0, n), make([]int32, 0, n), make([][]byte, 0, n), make([]*int64, 0, n)
	var answers updates.Answers
	for _, a := range appends {
		answers.Add(a.Append)
		for i := range a.Entries {
			e := &a.Entries[i]
			ids, seqs, numbers = append(ids, pg.UUIDOf(a.Lease.Job)), append(seqs, e.Seq), append(numbers, a.Lease.Number)
			kinds, paths, names = append(kinds, int32(e.Kind)), append(paths, pg.CleanText(e.Path)), append(names, pg.OptText(e.Name))
			codecs, data = append(codecs, int32(e.Codec)), append(data, e.Data)
			if refs = append(refs, nil); e.Ref != 0 {
				refs[len(refs)-1] = &e.Ref
			}
			if took = append(took, nil); e.Took > 0 {
				micros := e.Took.Microseconds()
				took[len(took)-1] = &micros
			}
		}
	}
	list := []pg.Statement{{Name: "append", Args: append(g.args(),
		ids, seqs, numbers, kinds, paths, pg.IfAny(names), pg.IfSet(refs), codecs, pg.IfAnyBytes(data), pg.IfSet(took), now)}}
	list = append(list, answers.Answering(now)...)
	if ids, seqs := closing(appends); ids != nil {
		list = append(list, pg.Statement{Name: "append_closing", Args: []any{ids, seqs}})
	}
	return list
}

// closing returns the jobs whose end appends decide, and the entries with which they do, in the
// order of the jobs.
func closing(appends []*appending) (ids []pgtype.UUID, seqs []int64) {
	var list []*appending
	for _, a := range appends {
		if a.Closing {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b *appending) int {
		return cmp.Or(bytes.Compare(a.Lease.Job[:], b.Lease.Job[:]), cmp.Compare(a.LastSeq(), b.LastSeq()))
	})
	for i, a := range list {
		if i == 0 || a.Lease.Job != list[i-1].Lease.Job {
			ids, seqs = append(ids, pg.UUIDOf(a.Lease.Job)), append(seqs, a.LastSeq())
		}
	}
	return ids, seqs
}

// needsBody reports whether the append needs the body of its job locked.
func (a *appending) needsBody() bool { return a.Closing || !a.Meta.IsEmpty() }

// appendEach writes appends and their enqueues, in the order given: those together that can be, and
// if that fails because of one of them, one by one behind savepoints. The bodies of those that
// close are locked. A child whose id the caller chose may have to wait for another transaction: its
// append is busy then, and so is what comes after it in its run.
func (s *Store) appendEach(ctx context.Context, t pg.Session, b *batch) error {
	left := b.openAppends
	if len(left) == 0 {
		return nil
	}
	if own, _, err := s.appendPart(ctx, t, b, left); !own {
		return err
	}
	busy := map[store.ID]bool{}
	for _, a := range left {
		if busy[a.Lease.Job] || a.mayWait() && b.patience.isOver() {
			busy[a.Lease.Job] = true
			a.putAside()
			continue
		}
		own, held, err := s.appendPart(ctx, t, b, []*appending{a})
		switch {
		case held:
			busy[a.Lease.Job] = true
			s.Blocked.addKeys(b.patience, a.keys()...)
			a.putAside()
		case own:
			a.refuse(ctx, err)
		case err != nil:
			return err
		}
	}
	b.setAsideRuns(func(r *Run) bool { return busy[r.Lease.Job] })
	return nil
}

// examineAppends finds out which appends are still to be written.
func (s *Store) examineAppends(ctx context.Context, t pg.Session, b *batch) (err error) {
	if b.openAppends = nil; len(b.appends) > 0 {
		b.openAppends, err = s.appendable(ctx, t, b.appends)
	}
	return err
}

// appendPart writes all of some appends or none. own tells that the error is of one of them, held
// that it waits for a caller's transaction.
func (s *Store) appendPart(ctx context.Context, t pg.Session, b *batch, part []*appending) (own, held bool, err error) {
	for _, a := range part {
		for _, e := range a.entries {
			e.Result, e.Err = store.EnqueueResult{}, nil
		}
	}
	write := func(t pg.Session) error { return s.writeAppends(ctx, t, part, b.now) }
	if slices.ContainsFunc(part, (*appending).mayWait) {
		held, err = b.contend(ctx, t, write)
	} else {
		err = t.Try(ctx, Briefly, write)
	}
	return held || pg.IsData(err) || errors.Is(err, errEnqueueFailed), held, err
}

// mayWait reports whether an append may have to wait for a transaction of a caller's.
func (a *appending) mayWait() bool {
	return slices.ContainsFunc(a.entries, (*Entry).MayWait)
}

// keys are what it may have to wait for.
func (a *appending) keys() (keys []string) {
	for _, e := range a.entries {
		if e.MayWait() {
			keys = append(keys, e.key())
		}
	}
	return keys
}

// putAside sets the error of an append that a caller's transaction is in the way of.
func (a *appending) putAside() {
	for _, e := range a.entries {
		if e.Result, e.Err = (store.EnqueueResult{}), nil; e.MayWait() {
			e.Err = e.blocked()
		}
	}
	a.Err = locks.ErrBlocked("write the journal of job " + a.Lease.Job.String())
}

// errEnqueueFailed undoes an append one of whose enqueues has an error.
var errEnqueueFailed = errors.New("an enqueue failed")

// writeAppends writes appends that may be written, all or nothing.
func (s *Store) writeAppends(ctx context.Context, t pg.Runner, appends []*appending, now int64) error {
	if err := pg.Together(ctx, t, writing(appends, now)...); err != nil {
		return err
	}
	var entries []*Entry
	for _, a := range appends {
		entries = append(entries, a.entries...)
	}
	if len(entries) == 0 {
		return nil
	}
	if err := s.EnqueueCarefully(ctx, t, entries, now); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Err != nil {
			return errEnqueueFailed
		}
	}
	for _, st := range s.Beside(entries, now) {
		if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
			return err
		}
	}
	return nil
}

// refuse sets the error of an append that was undone.
func (a *appending) refuse(ctx context.Context, err error) {
	for _, e := range a.entries {
		if e.Result = (store.EnqueueResult{}); e.Err != nil {
			err = e.Err
		}
	}
	if pg.IsOfJournal(err) {
		err = store.LostLease(a.Lease.Job)
	}
	a.Err = pg.Classify(ctx, "write the journal of job "+a.Lease.Job.String(), err)
}

// appendable finds out which of the appends may be written: their leases live, and their entries
// are not there. What was written before by the very lease is done, if it is repeated.
func (s *Store) appendable(ctx context.Context, t pg.Runner, appends []*appending, before ...pg.Statement) (left []*appending, err error) {
	n := len(appends)
	written, live := make([]int64, n), make([]bool, n)
	var ids []pgtype.UUID
	var seqs []int64
	var asked []int
	for i, a := range appends {
		if a.Err = nil; len(a.Entries) > 0 {
			ids, seqs, asked = append(ids, pg.UUIDOf(a.Lease.Job)), append(seqs, a.Entries[0].Seq), append(asked, i)
		}
		written[i] = -1
	}
	nodes, records, slots, jobs, numbers := LeaseArgs(n, func(i int) store.Lease { return appends[i].Lease })
	looks := append(slices.Clip(before), pg.Statement{Name: "append_written", Args: []any{ids, seqs}, Each: func(r pg.Row) error {
		var place, lease int64
		err := r.Scan(&place, &lease)
		written[asked[place-1]] = lease
		return err
	}}, pg.Statement{Name: "append_live", Args: []any{nodes, records, slots, jobs, numbers}, Each: func(r pg.Row) error {
		var place int64
		if err := r.Scan(&place); err != nil {
			return err
		}
		live[place-1] = true
		return nil
	}})
	if err := pg.Together(ctx, t, looks...); err != nil {
		return nil, err
	}
	var done []*Entry
	for i, a := range appends {
		switch {
		case a.Repeat && written[i] == a.Lease.Number:
			done = append(done, a.entries...)
		case written[i] >= 0, !live[i]:
			a.Err = store.LostLease(a.Lease.Job)
		default:
			left = append(left, a)
		}
	}
	return left, s.settleRepeated(ctx, t, done)
}

// settleRepeated says of enqueues that they were done before.
func (s *Store) settleRepeated(ctx context.Context, t pg.Runner, entries []*Entry) error {
	if len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		e.Result, e.Err = store.EnqueueResult{ID: e.Job.ID, Existing: true}, nil
	}
	return t.Run(ctx, "enqueue_obstacles", func(r pg.Row) error {
		o, err := scanObstacle(r)
		if err == nil && o.RunAt != nil {
			entries[o.Place-1].Result.RunAt = pg.TimeOf(*o.RunAt)
		}
		return err
	}, obstacleArgs(entries, false)...)
}
