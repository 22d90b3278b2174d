package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// What a job published and streamed before it continued as new.
var earlierTests = []test{
	{"Remembered_what_was_published_and_streamed_stays_for_those_who_ask", earlierStays},
	{"pages_go_on_from_one_generation_to_the_next", earlierPages},
	{"what_is_kept_is_no_part_of_the_journal", earlierApart},
	{"Remembered_a_person_who_takes_entries_away_takes_none_of_before", earlierCut},
	{"Remembered_a_fork_knows_what_was_published_and_streamed_before", earlierForked},
	{"a_fork_that_remembers_nothing_knows_nothing_of_before", earlierNotForked},
	{"a_fork_of_what_was_forgotten_is_refused_although_an_entry_is_kept", earlierForkedLate},
	{"Remembered_much_is_kept_whatever_is_removed_beside_it", earlierMuch},
	{"what_is_removed_leaves_nothing_that_was_kept", earlierRemoved},
	{"Remembered_who_reads_on_while_the_job_continues_misses_nothing", earlierFollowed},
}

var (
	values = []store.EntryKind{store.EntryPublished}
	items  = []store.EntryKind{store.EntryStreamed}
	calls  = []store.EntryKind{store.EntryCallback}
	either = slices.Concat(values, items)
)

func value(seq int64, key string) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryPublished, Path: "1", Name: key, Data: []byte(strconv.FormatInt(seq, 10)), Codec: 3}
}

func item(seq int64, stream string) store.Entry {
	return store.Entry{Seq: seq, Kind: store.EntryStreamed, Path: "2.1", Name: stream, Data: []byte(strconv.FormatInt(seq, 10))}
}

// again lets a run continue as new, and claims the next one.
func (e *env) again(run *store.Claimed) {
	e.Helper()
	e.end(*run, store.Available, anew("x"))
	*run = e.claimOne(run.Lease.Node, run.Job.ID)
	run.Durable = true
}

// page reads a page of entries, of earlier generations too.
func (e *env) page(params store.JournalParams) []store.Entry {
	e.Helper()
	params.Earlier = true
	if params.Limit == 0 {
		params.Limit = 1000
	}
	page, err := e.store.Entries(e.ctx, params)
	if err != nil {
		e.Fatalf("Entries: %v", err)
	}
	return page
}

func seqs(entries []store.Entry) (list []int64) {
	for _, entry := range entries {
		list = append(list, entry.Seq)
	}
	return list
}

// threeGenerations makes a job that has continued as new twice, and the entries that it wrote.
//
//	1 step, 2 item a, 3 value k, 4 item b, 5 value once, 6 value k, 7 callback a
//	8 continued, 9 item a, 10 value k, 11 step, 12 item a
//	13 continued, 14 step, 15 item b, 16 item a
func (e *env) threeGenerations() (store.Claimed, []store.Entry) {
	e.Helper()
	run := e.started()
	var all []store.Entry
	write := func(entries ...store.Entry) {
		e.clock.Advance(time.Second)
		e.write(&run, entries...)
		all = append(all, e.journal(run.Job.ID).Entries...)
	}
	write(step(1), item(2, "a"), value(3, "k"), item(4, "b"), value(5, "once"), value(6, "k"), entry(7, store.EntryCallback, "a"))
	e.again(&run)
	write(item(9, "a"), value(10, "k"), step(11), item(12, "a"))
	e.again(&run)
	write(step(14), item(15, "b"), item(16, "a"))
	return run, all
}

// whileRemoved does the same before what is forgotten is removed, and after.
func (e *env) whileRemoved(f func()) {
	e.Helper()
	f()
	e.retain(store.RetainParams{})
	f()
}

func earlierStays(e *env) {
	run, all := e.threeGenerations()
	id := run.Job.ID
	pick := func(seqs ...int64) (entries []store.Entry) {
		for _, seq := range seqs {
			entries = append(entries, all[seq-1])
		}
		return entries
	}
	e.whileRemoved(func() {
		e.equal("stream a", e.page(store.JournalParams{Job: id, Kinds: items, Name: "a"}), pick(2, 9, 12, 16))
		e.equal("stream b", e.page(store.JournalParams{Job: id, Kinds: items, Name: "b"}), pick(4, 15))
		e.equal("all items", e.page(store.JournalParams{Job: id, Kinds: items}), pick(2, 4, 9, 12, 15, 16))
		for key, seq := range map[string]int64{"k": 10, "once": 5} {
			newest := e.page(store.JournalParams{Job: id, Kinds: values, Name: key, Newest: true, Limit: 1})
			e.equal("the newest value of "+key, newest, pick(seq))
		}
		if none := e.page(store.JournalParams{Job: id, Kinds: values, Name: "a", Newest: true}); len(none) > 0 {
			e.Fatalf("a stream is no value: %+v", none)
		}
		if none := e.page(store.JournalParams{Job: e.ids.next(), Kinds: items}); len(none) > 0 {
			e.Fatalf("entries of an unknown job: %+v", none)
		}
		// Who does not ask sees none of it.
		for name, kinds := range map[string][]store.EntryKind{"k": values, "once": values, "a": items} {
			page, err := e.store.Entries(e.ctx, store.JournalParams{Job: id, Kinds: kinds, Name: name, Limit: 10})
			if err != nil || len(page) > 0 && page[0].Seq < 13 {
				e.Fatalf("%s of before: %+v, %v", name, page, err)
			}
		}
	})
	// It stays when the job is at its end, and while it begins again.
	e.end(run, store.Failed)
	e.equal("stream a of a failed job", e.page(store.JournalParams{Job: id, Kinds: items, Name: "a"}), pick(2, 9, 12, 16))
	e.retry(id)
	run = e.claimOne(run.Lease.Node, id)
	e.write(&run, item(17, "a"))
	e.equal("stream a", seqs(e.page(store.JournalParams{Job: id, Kinds: items, Name: "a"})), []int64{2, 9, 12, 16, 17})
	e.end(run, store.Completed)
	e.equal("stream a", seqs(e.page(store.JournalParams{Job: id, Kinds: items, Name: "a"})), []int64{2, 9, 12, 16, 17})
}

func earlierPages(e *env) {
	run, _ := e.threeGenerations()
	e.whileRemoved(func() {
		for _, c := range []struct {
			what   string
			params store.JournalParams
			want   []int64
		}{
			{"the first two", store.JournalParams{Kinds: items, Name: "a", Limit: 2}, []int64{2, 9}},
			{"the next two", store.JournalParams{Kinds: items, Name: "a", Limit: 2, After: 9}, []int64{12, 16}},
			{"after an entry that is not there", store.JournalParams{Kinds: items, Name: "a", Limit: 2, After: 7}, []int64{9, 12}},
			{"after the last of before", store.JournalParams{Kinds: items, Name: "a", After: 12}, []int64{16}},
			{"after the end", store.JournalParams{Kinds: items, Name: "a", After: 16}, nil},
			{"the newest", store.JournalParams{Kinds: items, Name: "a", Newest: true, Limit: 2}, []int64{16, 12}},
			{"those before", store.JournalParams{Kinds: items, Name: "a", Newest: true, Limit: 2, After: 12}, []int64{9, 2}},
			{"before the first", store.JournalParams{Kinds: items, Name: "a", Newest: true, After: 2}, nil},
			{"of any name, of the last round", store.JournalParams{Kinds: either, After: 12}, []int64{15, 16}},
			{"of any kind", store.JournalParams{After: 11}, []int64{12, 13, 14, 15, 16}},
			{"the newest of any kind", store.JournalParams{Newest: true, Limit: 5}, []int64{16, 15, 14, 13, 12}},
			{"of any kind by its name", store.JournalParams{Name: "a"}, []int64{2, 9, 12, 16}},
			{"items and callbacks", store.JournalParams{Kinds: slices.Concat(items, calls)}, []int64{2, 4, 9, 12, 15, 16}},
			{"steps", store.JournalParams{Kinds: []store.EntryKind{store.EntryStep}}, []int64{14}},
			{"what continued", store.JournalParams{Kinds: []store.EntryKind{store.EntryContinued}}, []int64{13}},
			{"callbacks", store.JournalParams{Kinds: calls, Name: "a"}, nil},
			{"no kind", store.JournalParams{Kinds: []store.EntryKind{}}, nil},
		} {
			c.params.Job = run.Job.ID
			e.equal(c.what, seqs(e.page(c.params)), c.want)
		}
	})
	// Of values of before only the newest of each key is promised, in any page.
	newest := map[string]int64{}
	for _, v := range e.page(store.JournalParams{Job: run.Job.ID, Kinds: values}) {
		newest[v.Name] = v.Seq
	}
	e.equal("the newest values", newest, map[string]int64{"k": 10, "once": 5})
	_, err := e.store.Entries(e.ctx, store.JournalParams{Job: run.Job.ID, Kinds: items, Earlier: true, Limit: 1001})
	e.wantErr("a page that is too long", err, store.ErrInvalid)
}

func earlierApart(e *env) {
	run, all := e.threeGenerations()
	id := run.Job.ID
	e.whileRemoved(func() {
		e.equal("the journal", e.journal(id).Entries, all[12:])
		if n := e.get(id).Journal; n != 4 {
			e.Fatalf("the record tells of %d entries", n)
		}
	})
	// What is kept is not what this run has written, and no place for it.
	for _, seq := range []int64{2, 9} {
		err := e.tryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{item(seq, "a")}})
		e.wantErr(fmt.Sprint("append of entry ", seq), err, store.ErrLeaseLost)
	}
	e.equal("the journal", e.journal(id).Entries, all[12:])
	e.write(&run, step(17))
	e.wantEntries(id, 5)
}

func earlierCut(e *env) {
	for _, keep := range []int64{0, 5, 12, 13, 14, 15} {
		run, all := e.threeGenerations()
		id := run.Job.ID
		e.write(&run, value(17, "k"), value(18, "late"), item(19, "c"))
		e.end(run, store.Failed)
		params := resumption(id)
		params.Keep = keep
		e.resume(params, store.Available)
		left := max(keep, 13)
		e.wantEntries(id, int(left)-12)
		var want []int64
		for _, entry := range all {
			if entry.Kind == store.EntryStreamed && entry.Seq <= left {
				want = append(want, entry.Seq)
			}
		}
		e.whileRemoved(func() {
			e.equal(fmt.Sprint("items after a cut to ", keep), seqs(e.page(store.JournalParams{Job: id, Kinds: items})), want)
			newest := e.page(store.JournalParams{Job: id, Kinds: values, Name: "k", Newest: true, Limit: 1})
			e.equal("the value of before is the newest again", seqs(newest), []int64{10})
			if late := e.page(store.JournalParams{Job: id, Kinds: values, Name: "late"}); len(late) > 0 {
				e.Fatalf("a value that was taken away: %+v", late)
			}
		})
		// What it writes then is kept in its turn.
		run = e.claimOne(run.Lease.Node, id)
		e.write(&run, item(left+1, "a"), value(left+2, "k"))
		e.again(&run)
		e.whileRemoved(func() {
			e.equal("items", seqs(e.page(store.JournalParams{Job: id, Kinds: items})), append(slices.Clip(want), left+1))
			newest := e.page(store.JournalParams{Job: id, Kinds: values, Name: "k", Newest: true, Limit: 1})
			e.equal("value", seqs(newest), []int64{left + 2})
		})
		e.end(run, store.Completed)
	}
}

func earlierForked(e *env) {
	run, all := e.threeGenerations()
	e.write(&run, value(17, "k")) // after the place of each fork: it has not replaced the value of before there
	for _, removed := range []bool{false, true} {
		if removed {
			e.retain(store.RetainParams{})
		}
		for _, keep := range []int64{13, 15, 16} {
			id := e.fork(run.Job.ID, keep)
			var want []store.Entry
			for _, entry := range all[:keep] {
				if entry.Kind == store.EntryStreamed {
					entry.LeaseNumber = 0
					want = append(want, entry)
				}
			}
			e.equal(fmt.Sprint("items of a fork that keeps ", keep), e.page(store.JournalParams{Job: id, Kinds: items}), want,
				cmpopts.IgnoreFields(store.Entry{}, "At"))
			kept := e.page(store.JournalParams{Job: id, Kinds: values})
			e.equal("values of a fork", seqs(kept), []int64{5, 10})
			e.wantEntries(id, int(keep)-12)
			if n := e.get(id).Journal; n != keep-12 {
				e.Fatalf("the record of the fork tells of %d entries", n)
			}
			e.wantForkGoesOn(id, keep)
		}
	}
	// What the fork knows is its own.
	id := e.fork(run.Job.ID, 14)
	before := e.page(store.JournalParams{Job: id, Kinds: either})
	e.end(run, store.Completed)
	e.clock.Advance(time.Hour + slack)
	e.retain(store.RetainParams{Completed: time.Hour, Limit: 100})
	e.wantGone(run.Job.ID)
	e.equal("what the fork knows", e.page(store.JournalParams{Job: id, Kinds: either}), before)
}

// wantForkGoesOn lets a fork continue as new, and be forked, with all that it knows of before.
func (e *env) wantForkGoesOn(id store.ID, last int64) {
	e.Helper()
	before := e.page(store.JournalParams{Job: id, Kinds: items})
	run := e.claimOne(e.join(), id)
	e.write(&run, item(last+1, "a"), value(last+2, "once"))
	e.again(&run)
	e.whileRemoved(func() {
		e.equal("items of a fork that continued", seqs(e.page(store.JournalParams{Job: id, Kinds: items})), append(seqs(before), last+1))
		e.equal("its values", seqs(e.page(store.JournalParams{Job: id, Kinds: values, Name: "once", Newest: true, Limit: 1})), []int64{last + 2})
	})
	second := e.fork(id, last+3)
	e.equal("items of a fork of a fork", seqs(e.page(store.JournalParams{Job: second, Kinds: items})), append(seqs(before), last+1))
	e.equal("the values of it", seqs(e.page(store.JournalParams{Job: second, Kinds: values})), []int64{10, last + 2})
	e.terminate(second)
	e.end(run, store.Completed)
}

func earlierNotForked(e *env) {
	run, _ := e.threeGenerations()
	e.whileRemoved(func() {
		for _, keep := range []int64{0, 2, 12} {
			id := e.fork(run.Job.ID, keep)
			if all := e.page(store.JournalParams{Job: id}); len(all) > 0 {
				e.Fatalf("a fork that keeps %d entries: %+v", keep, all)
			}
			next := e.claimOne(e.join(), id)
			if next.Durable {
				e.Fatalf("a fork that keeps %d entries is durable", keep)
			}
			e.write(&next, item(1, "a"))
			e.equal("its items", seqs(e.page(store.JournalParams{Job: id, Kinds: items})), []int64{1})
			e.end(next, store.Completed)
		}
	})
}

// earlierForkedLate: the entry after those that a fork keeps is the one that its maker has read, and forgotten all the same.
func earlierForkedLate(e *env) {
	run := e.durable(2)
	e.write(&run, item(3, "a"), step(4))
	next := e.journal(run.Job.ID).Entries[2]
	e.again(&run)
	e.whileRemoved(func() {
		err := e.store.Fork(e.ctx, store.ForkParams{From: run.Job.ID, Keep: 2, Next: &next, Job: e.job().Job})
		e.wantErr("a fork from an item of before", err, store.ErrConflict)
	})
}

// earlierMuch writes more than a store removes, or copies, at once.
func earlierMuch(e *env) {
	const (
		generations = 3
		written     = 1500
	)
	run := e.started()
	id := run.Job.ID
	var want muchKept
	last := int64(0)
	for n := range int64(generations) {
		for range written / 500 {
			var entries []store.Entry
			for range 500 {
				last++
				switch last % 5 {
				case 0, 1:
					entries, want.items = append(entries, item(last, "a")), append(want.items, last)
				case 2:
					entries, want.value = append(entries, value(last, "k")), last
				case 3:
					entries = append(entries, value(last, fmt.Sprint("k", last%500)))
				default:
					entries = append(entries, step(last))
				}
			}
			e.write(&run, entries...)
		}
		e.again(&run)
		last++
		e.wantEntries(id, 1)
		e.wantMuch(id, want)
		// The removal is at different places when the job continues the next time.
		for range n {
			if _, err := e.store.Retain(e.ctx, store.RetainParams{Limit: 1}); err != nil {
				e.Fatalf("Retain: %v", err)
			}
			e.wantMuch(id, want)
		}
	}
	forked := e.fork(id, last)
	e.wantMuch(forked, want)
	e.retain(store.RetainParams{})
	e.wantMuch(id, want)
	e.wantMuch(forked, want)
	e.equal("values", len(e.page(store.JournalParams{Job: id, Kinds: values})), 101)
	e.equal("values of the fork", len(e.page(store.JournalParams{Job: forked, Kinds: values})), 101)
}

// muchKept is what a job keeps that has written much: the items of the stream a, and the last value of the key k.
type muchKept struct {
	items []int64
	value int64
}

func (e *env) wantMuch(id store.ID, want muchKept) {
	e.Helper()
	var got []int64
	for after := int64(0); ; after = got[len(got)-1] {
		page := seqs(e.page(store.JournalParams{Job: id, Kinds: items, Name: "a", After: after}))
		if got = append(got, page...); len(page) < 1000 {
			break
		}
	}
	if !slices.Equal(got, want.items) {
		e.Fatalf("%d items, want %d", len(got), len(want.items))
	}
	newest := e.page(store.JournalParams{Job: id, Kinds: values, Name: "k", Newest: true, Limit: 1})
	e.equal("the newest value", seqs(newest), []int64{want.value})
}

func earlierRemoved(e *env) {
	run, _ := e.threeGenerations()
	id := run.Job.ID
	forked := e.fork(id, 14)
	e.end(run, store.Completed)
	e.clock.Advance(time.Hour + slack)
	if n := e.retain(store.RetainParams{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
	if left := e.page(store.JournalParams{Job: id}); len(left) > 0 {
		e.Fatalf("of a removed job is left: %+v", left)
	}
	if n := len(e.page(store.JournalParams{Job: forked, Kinds: items})); n != 4 {
		e.Fatalf("its fork has %d items", n)
	}
	e.terminate(forked)
	// A job that takes its id begins with nothing.
	e.enqueue(e.job(func(q *store.Enqueue) { q.Job.ID = id }))
	if left := e.page(store.JournalParams{Job: id}); len(left) > 0 {
		e.Fatalf("a new job finds %+v", left)
	}
	again := e.claimOne(e.join(), id)
	e.write(&again, step(1), item(2, "a"))
	e.wantEntries(id, 2)
	e.equal("its items", seqs(e.page(store.JournalParams{Job: id, Kinds: items})), []int64{2})
}

// earlierFollowed reads a stream while its job continues as new again and again, and what is forgotten is removed.
func earlierFollowed(e *env) {
	const (
		rounds = 20
		each   = 3
	)
	run := e.started()
	id := run.Job.ID
	over := make(chan struct{})
	var got, newest []int64
	var reader sync.WaitGroup
	reader.Go(func() {
		after := int64(0)
		for done := false; ; {
			select {
			case <-over:
				done = true
			default:
			}
			page, err := e.store.Entries(e.ctx, store.JournalParams{Job: id, Kinds: items, Name: "a", After: after, Limit: 2, Earlier: true})
			if err != nil {
				e.Errorf("Entries: %v", err)
				return
			}
			v, err := e.store.Entries(e.ctx, store.JournalParams{Job: id, Kinds: values, Name: "k", Newest: true, Limit: 1, Earlier: true})
			if err != nil {
				e.Errorf("Entries: %v", err)
				return
			}
			newest = append(newest, append(seqs(v), 0)[0])
			for _, entry := range page {
				after = entry.Seq
				got = append(got, after)
			}
			if done && len(page) == 0 {
				return
			}
		}
	})
	var want []int64
	last := int64(0)
	for range rounds {
		e.write(&run, value(last+1, "k"))
		for i := range int64(each) {
			e.write(&run, item(last+2+i, "a"))
			want = append(want, last+2+i)
		}
		last += each + 2
		e.again(&run)
		if _, err := e.store.Retain(e.ctx, store.RetainParams{}); err != nil {
			e.Fatalf("Retain: %v", err)
		}
	}
	close(over)
	reader.Wait()
	e.equal("items", got, want)
	if !slices.IsSorted(newest) || newest[len(newest)-1] != last-each-1 {
		e.Fatalf("the newest values were %v", newest)
	}
}
