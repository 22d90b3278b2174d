package durable

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var journalTests = env.Tests{
	"Remembered_what_is_appended_is_read_back":              journalRead,
	"Remembered_through_every_end_of_a_run":                 journalSurvives,
	"Remembered_once_a_number_is_taken_it_stays_what_it_is": journalNumbersOnce,
	"OneOwner_an_append_is_fenced":                          journalFenced,
	"AtomicTransitions_entries_and_children_share_one_fate": journalChildren,
	"a_repeated_append_does_nothing_again":                  journalRepeat,
	"an_append_that_never_happened_happens_when_repeated":   journalRepeatFirst,
	"entries_are_numbered_without_gaps":                     journalGapless,
	"appends_of_a_batch_stand_on_their_own":                 journalBatch,
	"a_refused_append_takes_no_other_of_its_batch_along":    journalRefusedAlone,
	"AtomicTransitions_appends_then_sends_then_outcomes":    journalOrder,
	"entries_are_read_in_pages":                             journalPages,
	"a_large_journal_is_whole":                              journalLarge,
}

func journalRead(e *env.Env) {
	run, other := e.Started(), e.Durable(2)
	if record := e.Get(run.Job.ID); record.Journal != 0 || run.Durable {
		e.Fatalf("a job that remembers nothing: %d entries, durable %v", record.Journal, run.Durable)
	}
	entries := []store.Entry{
		{Seq: 1, Kind: store.EntryStep, Path: "1", Name: "charge", Data: []byte("\x00\xff any bytes"), Codec: 7},
		{Seq: 2, Kind: store.EntryTimer, Path: "2.1", Data: []byte(`"2026-01-01T00:00:00Z"`)},
		{Seq: 3, Kind: store.EntryReceived, Path: "2.2", Name: "approved", Ref: 42},
	}
	first := e.Clock.Now()
	e.Write(&run, entries...)
	e.Clock.Advance(time.Second)
	last := store.Entry{Seq: 4, Kind: store.EntryPublished, Path: "3", Name: "progress", Data: []byte(`0.5`)}
	// The time and the lease are the store's, whatever the caller says.
	claims := last
	claims.At, claims.LeaseNumber = env.Start.Add(-time.Hour), 99
	e.Write(&run, claims)
	for i := range entries {
		entries[i].At, entries[i].LeaseNumber = first, 1
	}
	last.At, last.LeaseNumber = e.Clock.Now(), 1
	entries = append(entries, last)

	unknown := e.IDs.Next()
	journals, err := e.Store.Journals(e.Ctx, "", []store.ID{other.Job.ID, unknown, run.Job.ID})
	if err != nil || len(journals) != 3 {
		e.Fatalf("Journals: %d, %v", len(journals), err)
	}
	if journals[0].Job != other.Job.ID || len(journals[0].Entries) != 2 {
		e.Fatalf("journal of the other job: %+v", journals[0])
	}
	e.Equal("journal of an unknown job", journals[1], store.Journal{Job: unknown})
	e.Equal("journal", journals[2], store.Journal{Job: run.Job.ID, Entries: entries})
	if n := e.Get(run.Job.ID).Journal; n != 4 {
		e.Fatalf("the record tells of %d entries", n)
	}
	if journals, err := e.Store.Journals(e.Ctx, "", nil); err != nil || len(journals) != 0 {
		e.Fatalf("journals of nothing: %+v, %v", journals, err)
	}
}

// journalSurvives: each run goes on where the one before it ended, whatever ended it: with the
// journal, the messages and the checkpoint.
func journalSurvives(e *env.Env) {
	id, node := e.Add(env.Attempts(100)), e.Join()
	ends := []func(store.Claimed){
		func(run store.Claimed) { e.End(run, store.Retryable) },
		func(run store.Claimed) { e.End(run, store.Scheduled) },
		func(run store.Claimed) { e.End(run, store.Available) },
		func(run store.Claimed) { e.Park(run, &store.Wait{Until: e.Clock.Now().Add(time.Second), Seen: 1}) },
		func(store.Claimed) { e.Leave(node); node = e.Join() },
		func(store.Claimed) { e.Clock.Advance(env.DeadAfter + time.Second); e.Rescue(); node = e.Join() },
		func(run store.Claimed) { e.End(run, store.Failed); e.Retry(id) },
		func(run store.Claimed) { e.End(run, store.Cancelled); e.Retry(id) },
		func(run store.Claimed) { e.End(run, store.Completed) },
	}
	var want []store.Entry
	var saved *store.Checkpoint
	e.Send(id, env.Signal("first"))
	messages := e.Messages(id)
	for i, end := range ends {
		run := e.ClaimOne(node, id)
		if run.Durable != (i > 0) {
			e.Fatalf("run %d says durable: %v", i+1, run.Durable)
		}
		e.Equal("checkpoint that the run gets", run.Checkpoint, saved)
		// The time of a checkpoint is the store's, whatever the caller says.
		saved = e.Save(run, store.Checkpoint{
			Percent: 33.25 + float64(i), Message: fmt.Sprint("part ", i), Value: []byte(`{"page":7}`), UpdatedAt: env.Start.Add(time.Hour),
		})
		e.Write(&run, env.Step(int64(i+1)))
		written := env.Step(int64(i + 1))
		written.At, written.LeaseNumber = e.Clock.Now(), run.Lease.Number
		want = append(want, written)
		end(run)
		e.Equal("journal", e.Journal(id).Entries, want)
		e.Equal("messages", e.Messages(id), messages)
		e.Equal("checkpoint", e.Get(id).Checkpoint, saved)
		e.Later(node, time.Minute)
	}
	e.WantState(id, store.Completed)
}

func journalNumbersOnce(e *env.Env) {
	run := e.Durable(3)
	before := e.Journal(run.Job.ID)
	other := func(seq int64) store.Entry { return env.Entry(seq, store.EntryValue, "another") }
	e.WantErr("the same run again", e.TryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(3)}}), store.ErrLeaseLost)
	e.WantErr("from the beginning",
		e.TryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(1), other(2)}}), store.ErrLeaseLost)
	e.WantErr("over the end",
		e.TryAppend(&store.Append{Lease: run.Lease, Entries: []store.Entry{other(3), other(4)}}), store.ErrLeaseLost)
	e.End(run, store.Available)
	next := e.ClaimOne(e.Join(), run.Job.ID)
	e.WantErr("the next run", e.TryAppend(&store.Append{Lease: next.Lease, Entries: []store.Entry{other(2)}}), store.ErrLeaseLost)
	e.WantErr("the next run, as a repetition",
		e.TryAppend(&store.Append{Lease: next.Lease, Entries: []store.Entry{other(3)}, Repeat: true}), store.ErrLeaseLost)
	e.Equal("journal", e.Journal(run.Job.ID), before)
	e.Write(&next, env.Step(4))
	e.WantEntries(run.Job.ID, 4)
}

// journalFenced: see also fenceTaken in package jobs.
func journalFenced(e *env.Env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Retryable, store.Scheduled, store.Waiting} {
		run := e.Durable(1)
		e.End(run, state)
		e.WantNoAppend(run.Lease)
	}
	run, neighbour := e.Durable(1), e.Durable(1)
	for _, forge := range []func(*store.Lease){
		func(l *store.Lease) { l.Number++ },
		func(l *store.Lease) { l.Node = neighbour.Lease.Node },
		func(l *store.Lease) { l.Claim += 1000 },
		func(l *store.Lease) { l.Slot = store.MaxClaimSlots - 1 },
		func(l *store.Lease) { l.Job = neighbour.Job.ID },
		func(l *store.Lease) { l.Job = e.IDs.Next() },
	} {
		lease := run.Lease
		forge(&lease)
		e.WantNoAppend(lease)
	}
	e.Write(&run, env.Step(2))
}

func journalChildren(e *env.Env) {
	neighbour, run := e.Started(), e.Durable(1)
	children := []*store.Enqueue{
		e.Child(run.Job.ID), e.Child(run.Job.ID, env.Delay(time.Hour), env.Queue("other"), env.OnParentClose(store.AbandonChild)),
		e.Child(run.Job.ID, func(q *store.Enqueue) { q.Job.Answers = false }),
	}
	a := &store.Append{Lease: run.Lease, Entries: env.Steps(2, 4), Enqueues: children}
	e.NoError("append", e.TryAppend(a))
	states := []store.State{store.Available, store.Scheduled, store.Available}
	for i, q := range children {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing || q.Result.State != states[i] {
			e.Fatalf("child %d: %+v, %v", i, q.Result, q.Err)
		}
		record := e.Get(q.Job.ID)
		if record.Parent != run.Job.ID || record.Answers != q.Job.Answers || record.OnParentClose != q.Job.OnParentClose {
			e.Fatalf("child %d: %+v", i, record.Job)
		}
	}
	e.WantEntries(run.Job.ID, 4)
	e.WantSameIDs("children", e.ListIDs(store.Filter{Parent: run.Job.ID}), env.IDsOf(children)...)

	// A child that is invalid fails the whole append, and nothing else of the batch.
	kept := int64(0)
	for what, wrong := range map[string]func(*store.Enqueue){
		"a unique key":   env.Unique("k"),
		"another parent": func(q *store.Enqueue) { q.Job.Parent = children[0].Job.ID },
		"no kind":        func(q *store.Enqueue) { q.Job.Kind = "" },
		"no run time":    func(q *store.Enqueue) { q.Job.RunAt = env.BeyondTime },
	} {
		kept++
		fine, bad := e.Child(run.Job.ID), e.Child(run.Job.ID, wrong)
		failing := &store.Append{Lease: run.Lease, Entries: env.Steps(5, 6), Enqueues: []*store.Enqueue{fine, bad}, Closing: true}
		beside := &store.Append{Lease: neighbour.Lease, Entries: env.Steps(kept, kept)}
		apart := e.Job()
		e.Apply(&store.Batch{Appends: []*store.Append{failing, beside}, Enqueues: []*store.Enqueue{apart}})
		e.WantErr("append of a child with "+what, failing.Err, store.ErrInvalid)
		if beside.Err != nil || apart.Err != nil {
			e.Fatalf("its neighbours: %v, %v", beside.Err, apart.Err)
		}
		e.WantEntries(run.Job.ID, 4)
		for _, q := range []*store.Enqueue{fine, bad} {
			if _, err := e.Store.Get(e.Ctx, "", q.Job.ID); err == nil {
				e.Fatalf("a child of an append that failed because of %s is there", what)
			}
		}
		if e.Get(run.Job.ID).Closing {
			e.Fatal("an append that failed made its job closing")
		}
	}
}

func journalRepeat(e *env.Env) {
	run := e.Durable(1)
	a := &store.Append{Lease: run.Lease, Entries: env.Steps(2, 3), Enqueues: []*store.Enqueue{e.Child(run.Job.ID)}, Closing: true}
	e.NoError("append", e.TryAppend(a))
	e.Clock.Advance(time.Second)
	e.Write(&run, env.Step(4))
	before, jobs := e.Journal(run.Job.ID), len(e.ListIDs(store.Filter{}))
	for range 2 {
		again := *a
		child := *a.Enqueues[0]
		child.Result, child.Err = store.EnqueueResult{}, nil
		again.Repeat, again.Enqueues = true, []*store.Enqueue{&child}
		e.NoError("repeated append", e.TryAppend(&again))
		if child.Err != nil {
			e.Fatalf("child of the repeated append: %v", child.Err)
		}
	}
	e.Equal("journal", e.Journal(run.Job.ID), before)
	if n := len(e.ListIDs(store.Filter{})); n != jobs {
		e.Fatalf("%d jobs became %d", jobs, n)
	}
	e.Write(&run, env.Step(5))
}

func journalRepeatFirst(e *env.Env) {
	run := e.Started()
	a := &store.Append{Lease: run.Lease, Entries: env.Steps(1, 2), Enqueues: []*store.Enqueue{e.Child(run.Job.ID)}, Repeat: true}
	e.NoError("append", e.TryAppend(a))
	e.WantEntries(run.Job.ID, 2)
	e.WantState(a.Enqueues[0].Job.ID, store.Available)
	next := &store.Append{Lease: run.Lease, Entries: env.Steps(3, 3), Repeat: true}
	e.NoError("append", e.TryAppend(next))
	e.WantEntries(run.Job.ID, 3)
}

// journalGapless: Reading: a store sees gaps within an append. That it begins where the journal
// ends is up to the caller, who is the only writer; a store may refuse a gap there, and need not
// look.
func journalGapless(e *env.Env) {
	run := e.Durable(2)
	for _, wrong := range [][]int64{{3, 5}, {3, 3}, {4, 3}, {0}, {-1}} {
		var entries []store.Entry
		for _, seq := range wrong {
			entries = append(entries, env.Step(seq))
		}
		e.WantErr(fmt.Sprint("append of ", wrong), e.TryAppend(&store.Append{Lease: run.Lease, Entries: entries}), store.ErrInvalid)
	}
	e.WantEntries(run.Job.ID, 2)
}

func journalBatch(e *env.Env) {
	var runs []store.Claimed
	for range 6 {
		runs = append(runs, e.Durable(1))
	}
	e.End(runs[1], store.Completed)
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(2, 3)})
	}
	batch.Appends[4].Entries[0].Seq = 1
	batch.Appends[4].Entries[1].Seq = 2
	// One run appends twice; between the two there is an append whose number is taken.
	batch.Appends = append(batch.Appends,
		&store.Append{Lease: runs[0].Lease, Entries: env.Steps(4, 4)},
		&store.Append{Lease: runs[0].Lease, Entries: env.Steps(4, 4)},
		&store.Append{Lease: runs[0].Lease, Entries: env.Steps(5, 6), Closing: true})
	e.Apply(batch)
	for i, a := range batch.Appends {
		if i == 1 || i == 4 || i == 7 {
			e.WantErr(fmt.Sprint("append ", i), a.Err, store.ErrLeaseLost)
		} else if a.Err != nil {
			e.Fatalf("append %d: %v", i, a.Err)
		}
	}
	for i, n := range []int{6, 1, 3, 3, 1, 3} {
		e.WantEntries(runs[i].Job.ID, n)
	}
}

// journalRefusedAlone: a store may write the entries of many appends at once, and learn only then
// that a number is taken. Wherever that is among them, the other appends happen, once.
func journalRefusedAlone(e *env.Env) {
	const n = 40
	runs := e.Running(n)
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
			batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(first, first+each-1)})
		}
		e.Apply(batch)
		for i, a := range batch.Appends {
			what := fmt.Sprintf("append %d of %d entries, where those of %v are taken", i, each, taken)
			if slices.Contains(taken, i) {
				e.WantErr(what, a.Err, store.ErrLeaseLost)
			} else if a.Err != nil {
				e.Fatalf("%s: %v", what, a.Err)
			}
			e.WantEntries(runs[i].Job.ID, int(stored[i]))
		}
	}
	round(1)
	for _, each := range []int64{1, 3} {
		for _, taken := range [][]int{{0}, {5}, {15}, {16}, {n - 1}, {4, 5, 6}, {0, 5, 15, 16, n - 1}} {
			round(each, taken...)
		}
	}
	// The numbers of repetitions are all taken, and these succeed.
	batch := &store.Batch{}
	for i, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: env.Steps(stored[i], stored[i]), Repeat: true})
	}
	batch.Appends[20].Repeat = false
	e.Apply(batch)
	for i, a := range batch.Appends {
		if i == 20 {
			e.WantErr("an append between repetitions", a.Err, store.ErrLeaseLost)
		} else if a.Err != nil {
			e.Fatalf("repetition %d: %v", i, a.Err)
		}
		e.WantEntries(runs[i].Job.ID, int(stored[i]))
	}
}

// journalOrder: within a batch a run writes what it has done before it ends, and a message for a
// callback may meet the entry that opens it.
func journalOrder(e *env.Env) {
	run := e.Started()
	o := env.Outcome(run, store.Completed)
	late := env.Outcome(run, store.Completed)
	q := &store.Send{Job: run.Job.ID, Message: store.Message{Kind: store.MessageCallback, Name: "token"}}
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Step(1), env.Entry(2, store.EntryCallback, "token")}}
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{o, late}, Sends: []*store.Send{q}, Appends: []*store.Append{a}})
	if a.Err != nil || q.Err != nil || o.Err != nil {
		e.Fatalf("errors: %v, %v, %v", a.Err, q.Err, o.Err)
	}
	e.WantErr("a second outcome", late.Err, store.ErrLeaseLost)
	e.WantState(run.Job.ID, store.Completed)
	e.WantEntries(run.Job.ID, 2)
	if messages := e.Messages(run.Job.ID); len(messages) != 1 || q.Result.Seq != 1 {
		e.Fatalf("messages: %+v, %+v", messages, q.Result)
	}
}

func journalPages(e *env.Env) {
	run := e.Started()
	var entries []store.Entry
	for seq := int64(1); seq <= 30; seq++ {
		switch seq % 3 {
		case 0:
			entries = append(entries, env.Entry(seq, store.EntryPublished, "progress"))
		case 1:
			entries = append(entries, env.Entry(seq, store.EntryStreamed, "lines"))
		default:
			entries = append(entries, env.Step(seq))
		}
	}
	e.Write(&run, entries...)
	read := func(params store.JournalParams) []int64 {
		e.Helper()
		params.Job = run.Job.ID
		page, err := e.Store.Entries(e.Ctx, params)
		e.NoError("Entries", err)
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
		e.Equal(c.what, read(c.params), c.want)
	}
	wantWholePages(e, run)
}

// wantWholePages checks pages of all entries, of too many, and of none.
func wantWholePages(e *env.Env, run store.Claimed) {
	page, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: run.Job.ID, Limit: 1000})
	e.NoError("Entries", err)
	e.Equal("all", page, e.Journal(run.Job.ID).Entries)
	for _, limit := range []int{0, 1001} {
		_, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: run.Job.ID, Limit: limit})
		e.WantErr("a page without a limit", err, store.ErrInvalid)
	}
	if page, err := e.Store.Entries(e.Ctx, store.JournalParams{Job: e.IDs.Next(), Limit: 5}); err != nil || len(page) != 0 {
		e.Fatalf("entries of an unknown job: %+v, %v", page, err)
	}
}

func journalLarge(e *env.Env) {
	run := e.Started()
	large := env.Step(1)
	large.Data = bytes.Repeat([]byte("0123456789"), 100_000)
	e.Write(&run, large)
	for first := int64(2); first <= 1500; first += 500 {
		e.Write(&run, env.Steps(first, first+499)...)
	}
	entries := e.WantEntries(run.Job.ID, 1501)
	if !bytes.Equal(entries[0].Data, large.Data) {
		e.Fatal("the large entry came back as another")
	}
	if n := e.Get(run.Job.ID).Journal; n != 1501 {
		e.Fatalf("the record tells of %d entries", n)
	}
}
