package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var journalTests = []test{
	{"Remembered_what_is_appended_is_read_back", journalRead},
	{"Remembered_through_every_end_of_a_run", journalSurvives},
	{"Remembered_once_a_number_is_taken_it_stays_what_it_is", journalNumbersOnce},
	{"OneOwner_an_append_is_fenced", journalFenced},
	{"AtomicTransitions_entries_and_children_share_one_fate", journalChildren},
	{"a_repeated_append_does_nothing_again", journalRepeat},
	{"an_append_that_never_happened_happens_when_repeated", journalRepeatFirst},
	{"entries_are_numbered_without_gaps", journalGapless},
	{"appends_of_a_batch_stand_on_their_own", journalBatch},
	{"a_refused_append_takes_no_other_of_its_batch_along", journalRefusedAlone},
	{"AtomicTransitions_appends_then_sends_then_outcomes", journalOrder},
	{"entries_are_read_in_pages", journalPages},
	{"a_large_journal_is_whole", journalLarge},
	{"Closing_stays_until_a_person_lets_the_job_begin_again", journalClosing},
	{"a_text_that_the_database_cannot_hold_fails_no_append", journalHostileText},
	{"what_is_removed_leaves_no_journal", journalRetained},
}

func journalRead(e *env) {
	run, other := e.started(), e.durable(2)
	if record := e.get(run.Job.ID); record.Journal != 0 || run.Durable {
		e.Fatalf("a job that remembers nothing: %d entries, durable %v", record.Journal, run.Durable)
	}
	entries := []store.Entry{
		{Seq: 1, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte("\x00\xff any bytes"), Codec: 7},
		{Seq: 2, Kind: store.EntryTimer, Path: "2.1", Data: []byte(`"2026-01-01T00:00:00Z"`)},
		{Seq: 3, Kind: store.EntryReceived, Path: "2.2", Name: "approved", Ref: 42},
	}
	first := e.clock.Now()
	e.write(&run, entries...)
	e.clock.Advance(time.Second)
	last := store.Entry{Seq: 4, Kind: store.EntryPublished, Path: "3", Name: "progress", Data: []byte(`0.5`)}
	// The time and the lease are the store's, whatever the caller says.
	claims := last
	claims.At, claims.LeaseNumber = Start.Add(-time.Hour), 99
	e.write(&run, claims)
	for i := range entries {
		entries[i].At, entries[i].LeaseNumber = first, 1
	}
	last.At, last.LeaseNumber = e.clock.Now(), 1
	entries = append(entries, last)

	unknown := e.ids.next()
	journals, err := e.store.Journals(e.ctx, []store.ID{other.Job.ID, unknown, run.Job.ID})
	if err != nil || len(journals) != 3 {
		e.Fatalf("Journals: %d, %v", len(journals), err)
	}
	if journals[0].Job != other.Job.ID || len(journals[0].Entries) != 2 {
		e.Fatalf("journal of the other job: %+v", journals[0])
	}
	e.equal("journal of an unknown job", journals[1], store.Journal{Job: unknown})
	e.equal("journal", journals[2], store.Journal{Job: run.Job.ID, Entries: entries})
	if n := e.get(run.Job.ID).Journal; n != 4 {
		e.Fatalf("the record tells of %d entries", n)
	}
	if journals, err := e.store.Journals(e.ctx, nil); err != nil || len(journals) != 0 {
		e.Fatalf("journals of nothing: %+v, %v", journals, err)
	}
}

// journalSurvives: each run goes on where the one before it ended, whoever ended it.
func journalSurvives(e *env) {
	id, node := e.add(attempts(100)), e.join()
	ends := []func(store.Claimed){
		func(run store.Claimed) { e.end(run, store.Retryable) },
		func(run store.Claimed) { e.end(run, store.Scheduled) },
		func(run store.Claimed) { e.end(run, store.Available) },
		func(run store.Claimed) { e.park(run, &store.Wait{Until: e.clock.Now().Add(time.Second)}) },
		func(store.Claimed) { e.leave(node); node = e.join() },
		func(store.Claimed) { e.clock.Advance(deadAfter + time.Second); e.rescue(); node = e.join() },
		func(run store.Claimed) { e.end(run, store.Failed); e.retry(id) },
		func(run store.Claimed) { e.end(run, store.Cancelled); e.retry(id) },
		func(run store.Claimed) { e.end(run, store.Completed) },
	}
	var want []store.Entry
	for i, end := range ends {
		run := e.claimOne(node, id)
		if run.Durable != (i > 0) {
			e.Fatalf("run %d says durable: %v", i+1, run.Durable)
		}
		e.write(&run, step(int64(i+1)))
		written := step(int64(i + 1))
		written.At, written.LeaseNumber = e.clock.Now(), run.Lease.Number
		want = append(want, written)
		end(run)
		e.equal("journal", e.journal(id).Entries, want)
		e.later(node, time.Minute)
	}
	e.wantState(id, store.Completed)
}

func journalNumbersOnce(e *env) {
	run := e.durable(3)
	before := e.journal(run.Job.ID)
	other := func(seq int64) store.Entry { return entry(seq, store.EntryValue, "another") }
	e.wantErr("the same run again", e.tryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(3)}}), store.ErrLeaseLost)
	e.wantErr("from the beginning",
		e.tryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(1), other(2)}}), store.ErrLeaseLost)
	e.wantErr("over the end",
		e.tryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(3), other(4)}}), store.ErrLeaseLost)
	e.end(run, store.Available)
	next := e.claimOne(e.join(), run.Job.ID)
	e.wantErr("the next run", e.tryAppend(&store.Append{Lease: next.Lease, Entries: []store.Entry{other(2)}}), store.ErrLeaseLost)
	e.wantErr("the next run, as a repetition",
		e.tryAppend(&store.Append{Lease: next.Lease, Entries: []store.Entry{other(3)}, Repeat: true}), store.ErrLeaseLost)
	e.equal("journal", e.journal(run.Job.ID), before)
	e.write(&next, step(4))
	e.wantEntries(run.Job.ID, 4)
}

func journalFenced(e *env) {
	lost := func(what string, lease store.Lease) {
		e.Helper()
		before := e.journal(lease.Job)
		jobs := len(e.listIDs(store.Filter{}))
		seq := int64(len(before.Entries)) + 1
		for _, repeat := range []bool{false, true} {
			a := &store.Append{
				Lease: lease, Entries: steps(seq, seq+1), Enqueues: []*store.Enqueue{e.child(lease.Job)}, Closing: true, Repeat: repeat,
			}
			e.wantErr(what, e.tryAppend(a), store.ErrLeaseLost)
		}
		e.equal("journal after "+what, e.journal(lease.Job), before)
		if n := len(e.listIDs(store.Filter{})); n != jobs {
			e.Fatalf("%s: %d jobs became %d", what, jobs, n)
		}
		if record, err := e.store.Get(e.ctx, lease.Job); err == nil && record.Closing {
			e.Fatalf("%s: the job is closing", what)
		}
	}
	for _, state := range []store.State{store.Completed, store.Failed, store.Retryable, store.Scheduled, store.Waiting} {
		run := e.durable(1)
		e.end(run, state)
		lost("an append after the end as "+state.String(), run.Lease)
	}
	run := e.durable(1)
	e.leave(run.Lease.Node)
	lost("an append after the leave", run.Lease)
	next := e.claimOne(e.join(), run.Job.ID)
	lost("an append while the next run lives", run.Lease)
	e.end(next, store.Completed)

	run = e.durable(1)
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	lost("an append after the rescue", run.Lease)
	e.terminate(run.Job.ID)

	run = e.durable(1)
	neighbour := e.durable(1)
	for what, forge := range map[string]func(*store.Lease){
		"number": func(l *store.Lease) { l.Number++ },
		"node":   func(l *store.Lease) { l.Node = neighbour.Lease.Node },
		"claim":  func(l *store.Lease) { l.Claim += 1000 },
		"slot":   func(l *store.Lease) { l.Slot = store.MaxClaimSlots - 1 },
		"job":    func(l *store.Lease) { l.Job = neighbour.Job.ID },
		"ghost":  func(l *store.Lease) { l.Job = e.ids.next() },
	} {
		lease := run.Lease
		forge(&lease)
		lost("an append with a forged "+what, lease)
	}
	e.write(&run, step(2))
}

func journalChildren(e *env) {
	neighbour, run := e.started(), e.durable(1)
	children := []*store.Enqueue{
		e.child(run.Job.ID), e.child(run.Job.ID, delay(time.Hour), queue("other"), onParentClose(store.AbandonChild)),
		e.child(run.Job.ID, func(q *store.Enqueue) { q.Job.Answers = false }),
	}
	a := &store.Append{Lease: run.Lease, Entries: steps(2, 4), Enqueues: children}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append: %v", err)
	}
	states := []store.State{store.Available, store.Scheduled, store.Available}
	for i, q := range children {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing || q.Result.State != states[i] {
			e.Fatalf("child %d: %+v, %v", i, q.Result, q.Err)
		}
		record := e.get(q.Job.ID)
		if record.Parent != run.Job.ID || record.Answers != q.Job.Answers || record.OnParentClose != q.Job.OnParentClose {
			e.Fatalf("child %d: %+v", i, record.Job)
		}
	}
	e.wantEntries(run.Job.ID, 4)
	e.wantSameIDs("children", e.listIDs(store.Filter{Parent: run.Job.ID}), idsOf(children)...)

	// One that cannot be takes all of it along, and nothing else of the batch.
	kept := int64(0)
	for what, wrong := range map[string]func(*store.Enqueue){
		"a unique key":   unique("k"),
		"another parent": func(q *store.Enqueue) { q.Job.Parent = children[0].Job.ID },
		"no kind":        func(q *store.Enqueue) { q.Job.Kind = "" },
		"no run time":    func(q *store.Enqueue) { q.Job.RunAt = beyondTime },
	} {
		kept++
		fine, bad := e.child(run.Job.ID), e.child(run.Job.ID, wrong)
		failing := &store.Append{Lease: run.Lease, Entries: steps(5, 6), Enqueues: []*store.Enqueue{fine, bad}, Closing: true}
		beside := &store.Append{Lease: neighbour.Lease, Entries: steps(kept, kept)}
		apart := e.job()
		e.apply(&store.Batch{Appends: []*store.Append{failing, beside}, Enqueues: []*store.Enqueue{apart}})
		e.wantErr("append of a child with "+what, failing.Err, store.ErrInvalid)
		if beside.Err != nil || apart.Err != nil {
			e.Fatalf("its neighbours: %v, %v", beside.Err, apart.Err)
		}
		e.wantEntries(run.Job.ID, 4)
		for _, q := range []*store.Enqueue{fine, bad} {
			if _, err := e.store.Get(e.ctx, q.Job.ID); err == nil {
				e.Fatalf("a child of an append that failed because of %s is there", what)
			}
		}
		if e.get(run.Job.ID).Closing {
			e.Fatal("an append that failed made its job closing")
		}
	}
}

func journalRepeat(e *env) {
	run := e.durable(1)
	a := &store.Append{Lease: run.Lease, Entries: steps(2, 3), Enqueues: []*store.Enqueue{e.child(run.Job.ID)}, Closing: true}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.clock.Advance(time.Second)
	e.write(&run, step(4))
	before, jobs := e.journal(run.Job.ID), len(e.listIDs(store.Filter{}))
	for range 2 {
		again := *a
		child := *a.Enqueues[0]
		child.Result, child.Err = store.EnqueueResult{}, nil
		again.Repeat, again.Enqueues = true, []*store.Enqueue{&child}
		if err := e.tryAppend(&again); err != nil {
			e.Fatalf("repeated append: %v", err)
		}
		if child.Err != nil {
			e.Fatalf("child of the repeated append: %v", child.Err)
		}
	}
	e.equal("journal", e.journal(run.Job.ID), before)
	if n := len(e.listIDs(store.Filter{})); n != jobs {
		e.Fatalf("%d jobs became %d", jobs, n)
	}
	e.write(&run, step(5))
}

func journalRepeatFirst(e *env) {
	run := e.started()
	a := &store.Append{Lease: run.Lease, Entries: steps(1, 2), Enqueues: []*store.Enqueue{e.child(run.Job.ID)}, Repeat: true}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.wantEntries(run.Job.ID, 2)
	e.wantState(a.Enqueues[0].Job.ID, store.Available)
	next := &store.Append{Lease: run.Lease, Entries: steps(3, 3), Repeat: true}
	if err := e.tryAppend(next); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.wantEntries(run.Job.ID, 3)
}

// journalGapless: Reading: a store sees gaps within an append. That it begins where the journal ends is up to the caller, who is
// the only writer; a store may refuse a gap there, and need not look.
func journalGapless(e *env) {
	run := e.durable(2)
	for _, wrong := range [][]int64{{3, 5}, {3, 3}, {4, 3}, {0}, {-1}} {
		var entries []store.Entry
		for _, seq := range wrong {
			entries = append(entries, step(seq))
		}
		e.wantErr(fmt.Sprint("append of ", wrong), e.tryAppend(&store.Append{Lease: run.Lease, Entries: entries}), store.ErrInvalid)
	}
	e.wantEntries(run.Job.ID, 2)
}

func journalBatch(e *env) {
	var runs []store.Claimed
	for range 6 {
		runs = append(runs, e.durable(1))
	}
	e.end(runs[1], store.Completed)
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: steps(2, 3)})
	}
	batch.Appends[4].Entries[0].Seq = 1
	batch.Appends[4].Entries[1].Seq = 2
	// Two of one run, in their order, and one between them that comes too late.
	batch.Appends = append(batch.Appends,
		&store.Append{Lease: runs[0].Lease, Entries: steps(4, 4)},
		&store.Append{Lease: runs[0].Lease, Entries: steps(4, 4)},
		&store.Append{Lease: runs[0].Lease, Entries: steps(5, 6), Closing: true})
	e.apply(batch)
	for i, a := range batch.Appends {
		if i == 1 || i == 4 || i == 7 {
			e.wantErr(fmt.Sprint("append ", i), a.Err, store.ErrLeaseLost)
		} else if a.Err != nil {
			e.Fatalf("append %d: %v", i, a.Err)
		}
	}
	for i, n := range []int{6, 1, 3, 3, 1, 3} {
		e.wantEntries(runs[i].Job.ID, n)
	}
}

// journalRefusedAlone: a store may write the entries of many appends at once, and learn only then that a number is taken. Wherever that is
// among them, the other appends happen, once.
func journalRefusedAlone(e *env) {
	const n = 40
	var enqueues []*store.Enqueue
	for range n {
		enqueues = append(enqueues, e.job())
	}
	e.enqueue(enqueues...)
	runs := e.claim(e.join(), n)
	if len(runs) != n {
		e.Fatalf("claimed %d of %d jobs", len(runs), n)
	}
	var stored [n]int64 // entries in the journal of each run
	round := func(each int64, taken ...int) {
		e.Helper()
		batch := &store.Batch{}
		for i, run := range runs {
			first := stored[i] + 1
			if slices.Contains(taken, i) {
				first = stored[i]
			} else {
				stored[i] += each
			}
			batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: steps(first, first+each-1)})
		}
		e.apply(batch)
		for i, a := range batch.Appends {
			what := fmt.Sprintf("append %d of %d entries, where those of %v are taken", i, each, taken)
			if slices.Contains(taken, i) {
				e.wantErr(what, a.Err, store.ErrLeaseLost)
			} else if a.Err != nil {
				e.Fatalf("%s: %v", what, a.Err)
			}
			e.wantEntries(runs[i].Job.ID, int(stored[i]))
		}
	}
	round(1)
	for _, each := range []int64{1, 3} {
		for _, taken := range [][]int{{0}, {5}, {15}, {16}, {n - 1}, {4, 5, 6}, {0, 5, 15, 16, n - 1}} {
			round(each, taken...)
		}
	}
	// Nor do repetitions, of which every number is taken.
	batch := &store.Batch{}
	for i, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: steps(stored[i], stored[i]), Repeat: true})
	}
	batch.Appends[20].Repeat = false
	e.apply(batch)
	for i, a := range batch.Appends {
		if i == 20 {
			e.wantErr("an append between repetitions", a.Err, store.ErrLeaseLost)
		} else if a.Err != nil {
			e.Fatalf("repetition %d: %v", i, a.Err)
		}
		e.wantEntries(runs[i].Job.ID, int(stored[i]))
	}
}

// journalOrder: within a batch a run writes what it has done before it ends, and a message for a callback may meet the
// entry that opens it.
func journalOrder(e *env) {
	run := e.started()
	o := outcome(run, store.Completed)
	late := outcome(run, store.Completed)
	q := &store.Send{Job: run.Job.ID, Message: store.Message{Kind: store.MessageCallback, Name: "token"}}
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{step(1), entry(2, store.EntryCallback, "token")}}
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o, late}, Sends: []*store.Send{q}, Appends: []*store.Append{a}})
	if a.Err != nil || q.Err != nil || o.Err != nil {
		e.Fatalf("errors: %v, %v, %v", a.Err, q.Err, o.Err)
	}
	e.wantErr("a second outcome", late.Err, store.ErrLeaseLost)
	e.wantState(run.Job.ID, store.Completed)
	e.wantEntries(run.Job.ID, 2)
	if messages := e.messages(run.Job.ID); len(messages) != 1 || q.Result.Seq != 1 {
		e.Fatalf("messages: %+v, %+v", messages, q.Result)
	}
}

func journalPages(e *env) {
	run := e.started()
	var entries []store.Entry
	for seq := int64(1); seq <= 30; seq++ {
		switch seq % 3 {
		case 0:
			entries = append(entries, entry(seq, store.EntryPublished, "progress"))
		case 1:
			entries = append(entries, entry(seq, store.EntryStreamed, "lines"))
		default:
			entries = append(entries, step(seq))
		}
	}
	e.write(&run, entries...)
	read := func(params store.JournalParams) []int64 {
		e.Helper()
		params.Job = run.Job.ID
		page, err := e.store.Entries(e.ctx, params)
		if err != nil {
			e.Fatalf("Entries: %v", err)
		}
		var seqs []int64
		for _, entry := range page {
			seqs = append(seqs, entry.Seq)
		}
		return seqs
	}
	published, streamed := []store.EntryKind{store.EntryPublished}, []store.EntryKind{store.EntryStreamed}
	for _, c := range []struct {
		what   string
		params store.JournalParams
		want   []int64
	}{
		{"the first", store.JournalParams{Limit: 3}, []int64{1, 2, 3}},
		{"those after", store.JournalParams{Limit: 3, After: 3}, []int64{4, 5, 6}},
		{"the end", store.JournalParams{Limit: 3, After: 28}, []int64{29, 30}},
		{"beyond the end", store.JournalParams{Limit: 3, After: 30}, nil},
		{"the newest", store.JournalParams{Limit: 2, Newest: true}, []int64{30, 29}},
		{"those before", store.JournalParams{Limit: 2, Newest: true, After: 29}, []int64{28, 27}},
		{"before the first", store.JournalParams{Limit: 2, Newest: true, After: 1}, nil},
		{"a kind", store.JournalParams{Limit: 2, Kinds: published, After: 4}, []int64{6, 9}},
		{"the newest of a kind and name", store.JournalParams{Limit: 1, Kinds: published, Name: "progress", Newest: true}, []int64{30}},
		{"the next of a stream", store.JournalParams{Limit: 2, Kinds: streamed, Name: "lines", After: 7}, []int64{10, 13}},
		{"a name", store.JournalParams{Limit: 2, Name: "charge"}, []int64{2, 5}},
		{"two kinds", store.JournalParams{Limit: 3, Kinds: []store.EntryKind{store.EntryPublished, store.EntryStep}, After: 3}, []int64{5, 6, 8}},
		{"another name", store.JournalParams{Limit: 3, Kinds: published, Name: "lines"}, nil},
	} {
		e.equal(c.what, read(c.params), c.want)
	}
	page, err := e.store.Entries(e.ctx, store.JournalParams{Job: run.Job.ID, Limit: 1000})
	if err != nil {
		e.Fatalf("Entries: %v", err)
	}
	e.equal("all", page, e.journal(run.Job.ID).Entries)
	for _, limit := range []int{0, 1001} {
		_, err := e.store.Entries(e.ctx, store.JournalParams{Job: run.Job.ID, Limit: limit})
		e.wantErr("a page without a limit", err, store.ErrInvalid)
	}
	if page, err := e.store.Entries(e.ctx, store.JournalParams{Job: e.ids.next(), Limit: 5}); err != nil || len(page) != 0 {
		e.Fatalf("entries of an unknown job: %+v, %v", page, err)
	}
}

func journalLarge(e *env) {
	run := e.started()
	large := step(1)
	large.Data = bytes.Repeat([]byte("0123456789"), 100_000)
	e.write(&run, large)
	for first := int64(2); first <= 1500; first += 500 {
		e.write(&run, steps(first, first+499)...)
	}
	entries := e.wantEntries(run.Job.ID, 1501)
	if !bytes.Equal(entries[0].Data, large.Data) {
		e.Fatal("the large entry came back as another")
	}
	if n := e.get(run.Job.ID).Journal; n != 1501 {
		e.Fatalf("the record tells of %d entries", n)
	}
}

func journalClosing(e *env) {
	run := e.durable(1, attempts(1))
	if e.get(run.Job.ID).Closing {
		e.Fatal("a job is closing, and nobody said so")
	}
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{entry(2, store.EntryClosing, "")}, Closing: true}
	if err := e.tryAppend(a); err != nil {
		e.Fatalf("append: %v", err)
	}
	e.write(&run, step(3)) // which does not take it back
	if !e.get(run.Job.ID).Closing {
		e.Fatal("the job is not closing")
	}
	// No lost attempt ends it, though none is left, and the next run is told.
	next := run
	for range 3 {
		e.lose(next)
		e.clock.Advance(rescueBackoff)
		if next = e.claimOne(e.join(), run.Job.ID); !next.Job.Closing || !next.Durable {
			e.Fatalf("the next run: %+v", next)
		}
	}
	e.end(next, store.Failed)
	e.retry(run.Job.ID)
	if e.get(run.Job.ID).Closing {
		e.Fatal("a retried job is closing")
	}
	next = e.claimOne(e.join(), run.Job.ID)
	if next.Job.Closing || !next.Durable {
		e.Fatalf("the run after the retry: %+v", next)
	}
	e.wantEntries(run.Job.ID, 3)
}

// journalHostileText: names are for people and come from programs. What becomes of such a name is not promised; that the
// append happens, and its neighbours', is.
func journalHostileText(e *env) {
	hostile := "name\x00 and \xff\xfe" + strings.Repeat("é", 100)
	run, neighbour := e.started(), e.started()
	odd := entry(1, store.EntryStep, hostile)
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{odd}}
	b := &store.Append{Lease: neighbour.Lease, Entries: steps(1, 1)}
	e.apply(&store.Batch{Appends: []*store.Append{a, b}})
	if a.Err != nil || b.Err != nil {
		e.Fatalf("errors: %v, %v", a.Err, b.Err)
	}
	if got := e.wantEntries(run.Job.ID, 1)[0].Name; !strings.HasPrefix(got, "name") || !strings.HasSuffix(got, "é") {
		e.Fatalf("the name is %q", got)
	}
	e.equal("entry of the neighbour", e.wantEntries(neighbour.Job.ID, 1)[0], step(1),
		cmpopts.IgnoreFields(store.Entry{}, "At", "LeaseNumber"))
}

func journalRetained(e *env) {
	run := e.durable(3)
	e.send(run.Job.ID, signal("approved"))
	e.end(run, store.Completed)
	e.clock.Advance(time.Hour + slack)
	if n := e.retain(store.RetainParams{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
	e.equal("journal of a removed job", e.journal(run.Job.ID), store.Journal{Job: run.Job.ID})
	// A job that takes its id begins with nothing.
	e.enqueue(e.job(func(q *store.Enqueue) { q.Job.ID = run.Job.ID }))
	again := e.claimOne(e.join(), run.Job.ID)
	if again.Durable {
		e.Fatal("a new job is durable")
	}
	e.write(&again, step(1))
	if got := e.send(run.Job.ID, signal("approved")); got.Seq != 1 {
		e.Fatalf("the first message has the number %d", got.Seq)
	}
}
