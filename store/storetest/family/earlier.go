package family

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What a job published and streamed before it continued as new.
var earlierTests = env.Tests{
	"Remembered_what_was_published_and_streamed_stays_for_those_who_ask": earlierStays,
	"pages_go_on_from_one_generation_to_the_next":                        earlierPages,
	"what_is_kept_is_no_part_of_the_journal":                             earlierApart,
	"Remembered_a_person_who_takes_entries_away_takes_none_of_before":    earlierCut,
	"Remembered_a_fork_knows_what_was_published_and_streamed_before":     earlierForked,
	"a_fork_that_remembers_nothing_knows_nothing_of_before":              earlierNotForked,
	"a_fork_of_what_was_forgotten_is_refused_although_an_entry_is_kept":  earlierForkedLate,
	"Remembered_much_is_kept_whatever_is_removed_beside_it":              earlierMuch,
	"what_is_removed_leaves_nothing_that_was_kept":                       earlierRemoved,
}

func value(seq int64, key string) store.Entry {
	e := env.Entry(seq, store.EntryPublished, key)
	e.Data, e.Codec = []byte(strconv.FormatInt(seq, 10)), 3
	return e
}

func item(seq int64, stream string) store.Entry {
	e := env.Entry(seq, store.EntryStreamed, stream)
	e.Path, e.Data = "2.1", []byte(strconv.FormatInt(seq, 10))
	return e
}

// again lets a run continue as new, and claims the next one.
func again(e *env.Env, run *store.Claimed) {
	e.Helper()
	e.End(*run, store.Available, env.AsNew("x"))
	*run = e.ClaimOne(run.Lease.Node, run.Job.ID)
	run.Durable = true
}

// page reads a page of entries, of earlier generations too.
func page(e *env.Env, params store.JournalParams) []store.Entry {
	e.Helper()
	params.Earlier = true
	if params.Limit == 0 {
		params.Limit = 1000
	}
	page, err := e.Store.Entries(e.Ctx, params)
	e.NoError("Entries", err)
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
func threeGenerations(e *env.Env) (store.Claimed, []store.Entry) {
	e.Helper()
	run := e.Started()
	var all []store.Entry
	write := func(entries ...store.Entry) {
		e.Clock.Advance(time.Second)
		e.Write(&run, entries...)
		all = append(all, e.Journal(run.Job.ID).Entries...)
	}
	write(env.Step(1), item(2, "a"), value(3, "k"), item(4, "b"), value(5, "once"), value(6, "k"), env.Entry(7, store.EntryCallback, "a"))
	again(e, &run)
	write(item(9, "a"), value(10, "k"), env.Step(11), item(12, "a"))
	again(e, &run)
	write(env.Step(14), item(15, "b"), item(16, "a"))
	return run, all
}

// whileRemoved does the same before what is forgotten is removed, and after.
func whileRemoved(e *env.Env, f func()) {
	e.Helper()
	f()
	e.Retain(store.Retention{})
	f()
}

func earlierStays(e *env.Env) {
	run, all := threeGenerations(e)
	id := run.Job.ID
	pick := func(seqs ...int64) (entries []store.Entry) {
		for _, seq := range seqs {
			entries = append(entries, all[seq-1])
		}
		return entries
	}
	whileRemoved(e, func() {
		e.Equal("stream a", page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "a"}), pick(2, 9, 12, 16))
		e.Equal("stream b", page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "b"}), pick(4, 15))
		e.Equal("all items", page(e, store.JournalParams{Job: id, Kinds: env.Items}), pick(2, 4, 9, 12, 15, 16))
		for key, seq := range map[string]int64{"k": 10, "once": 5} {
			newest := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: key, Newest: true, Limit: 1})
			e.Equal("the newest value of "+key, newest, pick(seq))
		}
		if none := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "a", Newest: true}); len(none) > 0 {
			e.Fatalf("a stream is no value: %+v", none)
		}
		if none := page(e, store.JournalParams{Job: e.IDs.Next(), Kinds: env.Items}); len(none) > 0 {
			e.Fatalf("entries of an unknown job: %+v", none)
		}
		// A reader who does not ask for earlier entries sees none.
		for name, kinds := range map[string][]store.EntryKind{"k": env.Values, "once": env.Values, "a": env.Items} {
			page, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: id, Kinds: kinds, Name: name, Limit: 10})
			if err != nil || len(page) > 0 && page[0].Seq < 13 {
				e.Fatalf("%s of before: %+v, %v", name, page, err)
			}
		}
	})
	// It stays when the job is at its end, and while it begins again.
	e.End(run, store.Failed)
	e.Equal("stream a of a failed job", page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "a"}), pick(2, 9, 12, 16))
	e.Retry(id)
	run = e.ClaimOne(run.Lease.Node, id)
	e.Write(&run, item(17, "a"))
	e.Equal("stream a", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "a"})), []int64{2, 9, 12, 16, 17})
	e.End(run, store.Completed)
	e.Equal("stream a", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "a"})), []int64{2, 9, 12, 16, 17})
}

func earlierPages(e *env.Env) {
	run, _ := threeGenerations(e)
	whileRemoved(e, func() {
		for _, c := range []struct {
			what   string
			params store.JournalParams
			want   []int64
		}{
			{"the first two", store.JournalParams{Kinds: env.Items, Name: "a", Limit: 2}, []int64{2, 9}},
			{"the next two", store.JournalParams{Kinds: env.Items, Name: "a", Limit: 2, After: 9}, []int64{12, 16}},
			{"after an entry that is not there", store.JournalParams{Kinds: env.Items, Name: "a", Limit: 2, After: 7}, []int64{9, 12}},
			{"after the last of before", store.JournalParams{Kinds: env.Items, Name: "a", After: 12}, []int64{16}},
			{"after the end", store.JournalParams{Kinds: env.Items, Name: "a", After: 16}, nil},
			{"the newest", store.JournalParams{Kinds: env.Items, Name: "a", Newest: true, Limit: 2}, []int64{16, 12}},
			{"those before", store.JournalParams{Kinds: env.Items, Name: "a", Newest: true, Limit: 2, After: 12}, []int64{9, 2}},
			{"before the first", store.JournalParams{Kinds: env.Items, Name: "a", Newest: true, After: 2}, nil},
			{"of any name, of the last round", store.JournalParams{Kinds: env.Either, After: 12}, []int64{15, 16}},
			{"of any kind", store.JournalParams{After: 11}, []int64{12, 13, 14, 15, 16}},
			{"the newest of any kind", store.JournalParams{Newest: true, Limit: 5}, []int64{16, 15, 14, 13, 12}},
			{"of any kind by its name", store.JournalParams{Name: "a"}, []int64{2, 9, 12, 16}},
			{"items and callbacks", store.JournalParams{Kinds: slices.Concat(env.Items, env.Calls)}, []int64{2, 4, 9, 12, 15, 16}},
			{"steps", store.JournalParams{Kinds: []store.EntryKind{store.EntryStep}}, []int64{14}},
			{"what continued", store.JournalParams{Kinds: []store.EntryKind{store.EntryContinued}}, []int64{13}},
			{"callbacks", store.JournalParams{Kinds: env.Calls, Name: "a"}, nil},
			{"no kind", store.JournalParams{Kinds: []store.EntryKind{}}, nil},
		} {
			c.params.Job = run.Job.ID
			e.Equal(c.what, seqs(page(e, c.params)), c.want)
		}
	})
	// Of earlier values, a store promises only the newest of each key.
	newest := map[string]int64{}
	for _, v := range page(e, store.JournalParams{Job: run.Job.ID, Kinds: env.Values}) {
		newest[v.Name] = v.Seq
	}
	e.Equal("the newest values", newest, map[string]int64{"k": 10, "once": 5})
	_, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: run.Job.ID, Kinds: env.Items, Earlier: true, Limit: 1001})
	e.WantErr("a page that is too long", err, store.ErrInvalid)
}

func earlierApart(e *env.Env) {
	run, all := threeGenerations(e)
	id := run.Job.ID
	whileRemoved(e, func() {
		e.Equal("the journal", e.Journal(id).Entries, all[12:])
		if n := e.Get(id).Journal; n != 4 {
			e.Fatalf("the record tells of %d entries", n)
		}
	})
	// This run did not write the entries that are kept, so it cannot repeat or replace them.
	for _, seq := range []int64{2, 9} {
		err := e.TryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{item(seq, "a")}})
		e.WantErr(fmt.Sprint("append of entry ", seq), err, store.ErrLeaseLost)
	}
	e.Equal("the journal", e.Journal(id).Entries, all[12:])
	e.Write(&run, env.Step(17))
	e.WantEntries(id, 5)
}

func earlierCut(e *env.Env) {
	for _, keep := range []int64{0, 5, 12, 13, 14, 15} {
		run, all := threeGenerations(e)
		id := run.Job.ID
		e.Write(&run, value(17, "k"), value(18, "late"), item(19, "c"))
		e.End(run, store.Failed)
		e.Resume(env.Cut(id, keep), store.Available)
		left := max(keep, 13)
		e.WantEntries(id, int(left)-12)
		var want []int64
		for _, entry := range all {
			if entry.Kind == store.EntryStreamed && entry.Seq <= left {
				want = append(want, entry.Seq)
			}
		}
		whileRemoved(e, func() {
			e.Equal(fmt.Sprint("items after a cut to ", keep), seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items})), want)
			newest := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "k", Newest: true, Limit: 1})
			e.Equal("the value of before is the newest again", seqs(newest), []int64{10})
			if late := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "late"}); len(late) > 0 {
				e.Fatalf("a value that was taken away: %+v", late)
			}
		})
		// What it writes then is kept in its turn.
		run = e.ClaimOne(run.Lease.Node, id)
		e.Write(&run, item(left+1, "a"), value(left+2, "k"))
		again(e, &run)
		whileRemoved(e, func() {
			e.Equal("items", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items})), append(slices.Clip(want), left+1))
			newest := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "k", Newest: true, Limit: 1})
			e.Equal("value", seqs(newest), []int64{left + 2})
		})
		e.End(run, store.Completed)
	}
}

func earlierForked(e *env.Env) {
	run, all := threeGenerations(e)
	e.Write(&run, value(17, "k")) // after the place of each fork: it has not replaced the value of before there
	for _, removed := range []bool{false, true} {
		if removed {
			e.Retain(store.Retention{})
		}
		for _, keep := range []int64{13, 15, 16} {
			id := e.Fork(run.Job.ID, keep)
			var want []store.Entry
			for _, entry := range all[:keep] {
				if entry.Kind == store.EntryStreamed {
					entry.LeaseNumber = 0
					want = append(want, entry)
				}
			}
			e.Equal(fmt.Sprint("items of a fork that keeps ", keep), page(e, store.JournalParams{Job: id, Kinds: env.Items}), want,
				cmpopts.IgnoreFields(store.Entry{}, "At"))
			kept := page(e, store.JournalParams{Job: id, Kinds: env.Values})
			e.Equal("values of a fork", seqs(kept), []int64{5, 10})
			e.WantEntries(id, int(keep)-12)
			if n := e.Get(id).Journal; n != keep-12 {
				e.Fatalf("the record of the fork tells of %d entries", n)
			}
			wantForkGoesOn(e, id, keep)
		}
	}
	// The fork has its own copy.
	id := e.Fork(run.Job.ID, 14)
	before := page(e, store.JournalParams{Job: id, Kinds: env.Either})
	e.End(run, store.Completed)
	e.Clock.Advance(time.Hour + env.Slack)
	e.Retain(store.Retention{Completed: time.Hour, Limit: 100})
	e.WantGone(run.Job.ID)
	e.Equal("what the fork knows", page(e, store.JournalParams{Job: id, Kinds: env.Either}), before)
}

// wantForkGoesOn lets a fork continue as new, and be forked, with all that it knows of before.
func wantForkGoesOn(e *env.Env, id store.ID, last int64) {
	e.Helper()
	before := page(e, store.JournalParams{Job: id, Kinds: env.Items})
	run := e.ClaimOne(e.Join(), id)
	e.Write(&run, item(last+1, "a"), value(last+2, "once"))
	again(e, &run)
	whileRemoved(e, func() {
		e.Equal("items of a fork that continued", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items})), append(seqs(before), last+1))
		newest := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "once", Newest: true, Limit: 1})
		e.Equal("its values", seqs(newest), []int64{last + 2})
	})
	second := e.Fork(id, last+3)
	e.Equal("items of a fork of a fork", seqs(page(e, store.JournalParams{Job: second, Kinds: env.Items})), append(seqs(before), last+1))
	e.Equal("the values of it", seqs(page(e, store.JournalParams{Job: second, Kinds: env.Values})), []int64{10, last + 2})
	e.Terminate(second)
	e.End(run, store.Completed)
}

func earlierNotForked(e *env.Env) {
	run, _ := threeGenerations(e)
	whileRemoved(e, func() {
		for _, keep := range []int64{0, 2, 12} {
			id := e.Fork(run.Job.ID, keep)
			if all := page(e, store.JournalParams{Job: id}); len(all) > 0 {
				e.Fatalf("a fork that keeps %d entries: %+v", keep, all)
			}
			next := e.ClaimOne(e.Join(), id)
			if next.Durable {
				e.Fatalf("a fork that keeps %d entries is durable", keep)
			}
			e.Write(&next, item(1, "a"))
			e.Equal("its items", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items})), []int64{1})
			e.End(next, store.Completed)
		}
	})
}

// earlierForkedLate: the entry after those that a fork keeps is the one that its maker has read,
// and forgotten all the same.
func earlierForkedLate(e *env.Env) {
	run := e.Durable(2)
	e.Write(&run, item(3, "a"), env.Step(4))
	next := e.Journal(run.Job.ID).Entries[2]
	again(e, &run)
	whileRemoved(e, func() {
		_, err := e.Store.Fork(e.Ctx, store.ForkParams{From: run.Job.ID, Keep: 2, Next: &next, Job: e.Job().Job})
		e.WantErr("a fork from an item of before", err, store.ErrConflict)
	})
}

// earlierMuch writes more than a store removes, or copies, at once.
func earlierMuch(e *env.Env) {
	const (
		generations = 3
		written     = 1500
	)
	run := e.Started()
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
					entries = append(entries, env.Step(last))
				}
			}
			e.Write(&run, entries...)
		}
		again(e, &run)
		last++
		e.WantEntries(id, 1)
		wantMuch(e, id, want)
		// The removal is at different places when the job continues the next time.
		for range n {
			if _, err := e.Store.Retain(e.Ctx, store.Retention{Limit: 1}); err != nil {
				e.Fatalf("Retain: %v", err)
			}
			wantMuch(e, id, want)
		}
	}
	forked := e.Fork(id, last)
	wantMuch(e, forked, want)
	e.Retain(store.Retention{})
	wantMuch(e, id, want)
	wantMuch(e, forked, want)
	e.Equal("values", len(page(e, store.JournalParams{Job: id, Kinds: env.Values})), 101)
	e.Equal("values of the fork", len(page(e, store.JournalParams{Job: forked, Kinds: env.Values})), 101)
}

// muchKept is what a job keeps that has written much: the items of the stream a, and the last value
// of the key k.
type muchKept struct {
	items []int64
	value int64
}

func wantMuch(e *env.Env, id store.ID, want muchKept) {
	e.Helper()
	var got []int64
	for after := int64(0); ; after = got[len(got)-1] {
		page := seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items, Name: "a", After: after}))
		if got = append(got, page...); len(page) < 1000 {
			break
		}
	}
	if !slices.Equal(got, want.items) {
		e.Fatalf("%d items, want %d", len(got), len(want.items))
	}
	newest := page(e, store.JournalParams{Job: id, Kinds: env.Values, Name: "k", Newest: true, Limit: 1})
	e.Equal("the newest value", seqs(newest), []int64{want.value})
}

func earlierRemoved(e *env.Env) {
	run, _ := threeGenerations(e)
	id := run.Job.ID
	forked := e.Fork(id, 14)
	e.End(run, store.Completed)
	e.Clock.Advance(time.Hour + env.Slack)
	if n := e.Retain(store.Retention{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
	if left := page(e, store.JournalParams{Job: id}); len(left) > 0 {
		e.Fatalf("of a removed job is left: %+v", left)
	}
	if n := len(page(e, store.JournalParams{Job: forked, Kinds: env.Items})); n != 4 {
		e.Fatalf("its fork has %d items", n)
	}
	e.Terminate(forked)
	// A job that takes its id begins with nothing.
	e.Enqueue(e.Job(env.ID(id)))
	if left := page(e, store.JournalParams{Job: id}); len(left) > 0 {
		e.Fatalf("a new job finds %+v", left)
	}
	again := e.ClaimOne(e.Join(), id)
	e.Write(&again, env.Step(1), item(2, "a"))
	e.WantEntries(id, 2)
	e.Equal("its items", seqs(page(e, store.JournalParams{Job: id, Kinds: env.Items})), []int64{2})
}

// earlierFollowed reads a stream while its job continues as new again and again, and what is
// forgotten is removed.
func earlierFollowed(e *env.Env) {
	e.Competes()
	const (
		rounds = 20
		each   = 3
	)
	run := e.Started()
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
			page, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: id, Kinds: env.Items, Name: "a", After: after, Limit: 2, Earlier: true})
			if err != nil {
				e.Errorf("Entries: %v", err)
				return
			}
			v, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: id, Kinds: env.Values, Name: "k", Newest: true, Limit: 1, Earlier: true})
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
		e.Write(&run, value(last+1, "k"))
		for i := range int64(each) {
			e.Write(&run, item(last+2+i, "a"))
			want = append(want, last+2+i)
		}
		last += each + 2
		again(e, &run)
		if _, err := e.Store.Retain(e.Ctx, store.Retention{}); err != nil {
			e.Fatalf("Retain: %v", err)
		}
	}
	close(over)
	reader.Wait()
	e.Equal("items", got, want)
	if !slices.IsSorted(newest) || newest[len(newest)-1] != last-each-1 {
		e.Fatalf("the newest values were %v", newest)
	}
}
