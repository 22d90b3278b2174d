package simulate

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// witness stands between those who ask and the store. It hears every request that arrives, and
// every answer before it may be lost, holds both against the ledger, and looks at each job that a
// call was about.
type witness struct {
	store.Store
	*ledger

	every  int    // after how many calls jobs are looked at
	unseen []*job // since then
	digest uint64 // of all that was seen
	told   func(format string, args ...any)
}

// must is for calls that nothing speaks against.
func must(op string, err error) {
	if err != nil {
		play.Brokenf("NoLoss", "%s fails: %v", op, err)
	}
}

// refused checks that a call was refused with an error of the class, and nothing else.
func refused(what string, err, class error) {
	if !errors.Is(err, class) {
		play.Brokenf("Contract", "%s is answered with %v, not with %v", what, err, class)
	}
}

// look notes the jobs that a call was about, and after every so many calls holds what the store
// says of them against the ledger.
func (w *witness) look(ctx context.Context) {
	for _, j := range w.touch {
		w.learnOrder(ctx, j)
		if !slices.Contains(w.unseen, j) {
			w.unseen = append(w.unseen, j)
		}
		if w.told != nil {
			w.told("      %s: %v is %v, run time %v, asked to cancel %v, to pause %v", w.op, j, j.state, j.body.RunAt, j.cancel, j.pause)
		}
	}
	if w.calls%w.every == 0 {
		w.lookAtAll(ctx)
	}
}

func (w *witness) lookAtAll(ctx context.Context) {
	for _, j := range w.unseen {
		w.lookAt(ctx, j)
	}
	w.unseen = w.unseen[:0]
}

func (w *witness) lookAt(ctx context.Context, j *job) {
	r := w.read(ctx, j)
	w.digest = play.Mix(w.digest ^ j.Name() ^ uint64(r.State)<<56 ^ uint64(r.LeaseNumber)<<32 ^ uint64(r.RunAt.UnixMicro()))
	if r.State != j.state {
		play.Brokenf("Atomic", "%v, a child of %v, is %v, and should be %v", j, w.jobs[j.body.Parent], r.State, j.state)
	}
	if r.Attempt != j.body.Attempt || r.LeaseNumber != j.body.LeaseNumber || len(r.Attempts) != j.recorded {
		play.Brokenf("Once", "%v, %v, has attempt %d, lease number %d and %d attempts recorded, and should have %d, %d and %d",
			j, j.state, r.Attempt, r.LeaseNumber, len(r.Attempts), j.body.Attempt, j.body.LeaseNumber, j.recorded)
	}
	if int(r.Journal) != len(j.journal) || int(r.Messages) != len(j.inbox) {
		play.Brokenf("Remembered", "%v has %d entries and %d messages, and should have %d and %d",
			j, r.Journal, r.Messages, len(j.journal), len(j.inbox))
	}
	for i := 1; i < len(r.Attempts); i++ {
		if r.Attempts[i-1].LeaseNumber >= r.Attempts[i].LeaseNumber {
			play.Brokenf("Once", "%v has the attempts %+v", j, r.Attempts)
		}
	}
	w.compareBody(j, &r)
	w.comparePlace(j, &r)
}

// learnOrder puts the last answers of children into the order that the store has given them: which
// of those that one transaction finishes answers first is not promised.
func (w *witness) learnOrder(ctx context.Context, j *job) {
	first := len(j.inbox)
	for first > 0 && j.inbox[first-1].Kind == store.MessageChild && j.inbox[first-1].At.Equal(w.now) {
		first--
	}
	last := j.inbox[first:]
	if len(last) < 2 {
		return
	}
	before := int64(0)
	if first > 0 {
		before = j.inbox[first-1].Seq
	}
	messages, err := w.Messages(ctx, store.InboxParams{Job: j.body.ID, After: before, Limit: len(last)})
	must("Messages", err)
	for i := range min(len(messages), len(last)) {
		at := slices.IndexFunc(last[i:], func(m message) bool {
			return m.From == messages[i].From && m.State == messages[i].State && bytes.Equal(m.Data, messages[i].Data)
		})
		if at < 0 {
			play.Brokenf("Remembered", "%v was sent %+v, which no child of it has", j, messages[i])
		}
		seq := last[i].Seq
		last[i], last[i+at] = last[i+at], last[i]
		last[i+at].Seq, last[i].Seq = last[i].Seq, seq
	}
}

// compareBody looks at what does not change by itself.
func (w *witness) compareBody(j *job, r *store.Record) {
	b := &j.body
	if r.Queue != b.Queue || r.Kind != b.Kind || r.Version != b.Version || r.Priority != b.Priority || r.OrderingKey != b.OrderingKey ||
		!bytes.Equal(r.Args, b.Args) || !bytes.Equal(r.UniqueKey, b.UniqueKey) || r.Parent != b.Parent || r.MaxAttempts != b.MaxAttempts ||
		!r.Options.Deadline.Equal(b.Options.Deadline) {
		play.Brokenf("NoLoss", "%v is %+v, and should be %+v", j, r.Job, b)
	}
	if r.Closing != b.Closing {
		play.Brokenf("Remembered", "%v is closing: %v, and should be: %v", j, r.Closing, b.Closing)
	}
}

// comparePlace looks at what belongs to the state.
func (w *witness) comparePlace(j *job, r *store.Record) {
	switch {
	case j.running():
		if r.Lease != j.lease || r.CancelRequested != j.cancel || r.PauseRequested != j.pause {
			play.Brokenf("OneOwner", "%v runs under %+v, asked to cancel: %v, to pause: %v, and should under %+v, %v, %v",
				j, r.Lease, r.CancelRequested, r.PauseRequested, j.lease, j.cancel, j.pause)
		}
	case j.finished():
		if !r.FinishedAt.Equal(j.finishedAt) {
			play.Brokenf("FinishedIsFinal", "%v finished at %v, and should have at %v", j, r.FinishedAt, j.finishedAt)
		}
	case j.held():
		if r.Wait == nil || !r.Wait.Held {
			play.Brokenf("Atomic", "%v is held, and waits like %+v", j, r.Wait)
		}
	case !r.RunAt.Equal(j.body.RunAt):
		play.Brokenf("EveryDueThing", "%v is %v and due at %v, and should be at %v", j, j.state, r.RunAt, j.body.RunAt)
	}
}

// survey looks at everything: every job in every way in which it can be read, the counts of queues,
// and the nodes.
func (w *witness) survey(ctx context.Context) {
	w.lookAtAll(ctx)
	w.surveyList(ctx)
	w.surveyQueues(ctx)
	w.surveyJournals(ctx)
	w.surveyEarlier(ctx)
	w.surveyKeys(ctx)
	w.surveySchedules(ctx)
	nodes, err := w.Nodes(ctx)
	must("Nodes", err)
	for _, n := range nodes {
		known := w.nodes[n.ID]
		if known == nil || known.dead == n.DeadAt.IsZero() || n.Running != len(w.running(n.ID)) {
			play.Brokenf("OneOwner", "node %d is told to hold %d jobs, dead since %v; it should hold %d: %+v",
				n.ID, n.Running, n.DeadAt, len(w.running(n.ID)), known)
		}
	}
}

func (w *witness) surveyList(ctx context.Context) {
	listed := w.list(ctx)
	for _, j := range w.order {
		r, found := listed[j.body.ID]
		if !found || r.State != j.state {
			play.Brokenf("NoLoss", "%v, which is %v, is listed: %v, as %v", j, j.state, found, r.State)
		}
		delete(listed, j.body.ID)
	}
	if len(listed) > 0 {
		play.Brokenf("FinishedIsFinal", "%d jobs are listed that should not be there", len(listed))
	}
}

// list reads all jobs.
func (w *witness) list(ctx context.Context) map[store.ID]store.Record {
	params := store.ListParams{Filter: store.Filter{Namespace: namespace}, Limit: 1000}
	listed := map[store.ID]store.Record{}
	for {
		page, err := w.List(ctx, params)
		must("List", err)
		for i := range page.Jobs {
			if _, twice := listed[page.Jobs[i].ID]; twice {
				play.Brokenf("Atomic", "%v is listed twice", page.Jobs[i].ID)
			}
			listed[page.Jobs[i].ID] = page.Jobs[i]
		}
		if page.Next == "" {
			return listed
		}
		params.After = page.Next
	}
}

func (w *witness) surveyQueues(ctx context.Context) {
	counts := map[string]map[store.State]int{}
	for name := range w.queues {
		counts[name] = map[store.State]int{}
	}
	var finished []store.ID
	for _, j := range w.order {
		if j.finished() {
			finished = append(finished, j.body.ID)
		} else {
			counts[j.body.Queue][j.state]++
		}
	}
	queues, err := w.Queues(ctx, namespace)
	must("Queues", err)
	for _, q := range queues {
		if w.paused[q.Name] == q.PausedAt.IsZero() {
			play.Brokenf("Counts", "%s is paused since %v, and should be: %v", q.Name, q.PausedAt, w.paused[q.Name])
		}
		for _, state := range store.States {
			if q.Counts[state].N != counts[q.Name][state] {
				play.Brokenf("Counts", "%s has %d jobs that are %v, and should have %d", q.Name, q.Counts[state].N, state, counts[q.Name][state])
			}
		}
		delete(counts, q.Name)
	}
	for name, left := range counts {
		if len(left) > 0 || w.paused[name] {
			play.Brokenf("Counts", "the queue %s is gone, which has %v", name, left)
		}
		delete(w.queues, name)
	}
	ended, err := w.Ended(ctx, "", finished)
	must("Ended", err)
	for _, e := range ended {
		if w.jobs[e.ID].state != e.State {
			play.Brokenf("FinishedIsFinal", "%v ended as %v, and should have as %v", w.jobs[e.ID], e.State, w.jobs[e.ID].state)
		}
	}
	if len(ended) != len(finished) {
		play.Brokenf("FinishedIsFinal", "%d jobs have ended, %d are told", len(finished), len(ended))
	}
}

// surveyJournals looks whether all that was remembered and sent is there, as it was written, and
// wakes whom it should.
func (w *witness) surveyJournals(ctx context.Context) {
	var ids []store.ID
	for _, j := range w.order {
		if len(j.journal)+len(j.inbox) > 0 {
			ids = append(ids, j.body.ID)
		}
	}
	journals, err := w.Journals(ctx, "", ids)
	must("Journals", err)
	for i := range journals {
		j := w.jobs[ids[i]]
		if !slices.EqualFunc(journals[i].Entries, j.journal, sameEntry) {
			play.Brokenf("Remembered", "%v remembers %+v, and should %+v", j, journals[i].Entries, j.journal)
		}
		got, want := journals[i].Messages, make([]store.Message, len(j.inbox))
		for n, m := range j.inbox {
			want[n] = m.Message
		}
		if !slices.EqualFunc(got, want, sameMessage) {
			play.Brokenf("Remembered", "%v was sent %+v, and should have been %+v", j, got, want)
		}
		for n := range want {
			if j.state == store.Waiting && j.wait.Wakes(&want[n]) {
				play.Brokenf("EveryDueThing", "%v sleeps, though message %d has come", j, want[n].Seq)
			}
		}
	}
}

// surveyKeys looks at keys of two kinds by the ledger alone, whose states the store has confirmed.
func (w *witness) surveyKeys(ctx context.Context) {
	holders, turns := map[string]*job{}, map[string]*job{}
	for _, j := range w.order {
		if j.holds {
			if other := holders[string(j.body.UniqueKey)]; other != nil {
				play.Brokenf("Unique", "%v and %v both hold %q", j, other, j.body.UniqueKey)
			}
			holders[string(j.body.UniqueKey)] = j
		}
		if j.running() && j.body.OrderingKey != "" {
			if other := turns[j.keyName()]; other != nil {
				play.Brokenf("Order", "%v and %v of one ordering key both run", j, other)
			}
			turns[j.keyName()] = j
		}
		if holder := w.turn(j).holder; j.body.OrderingKey != "" && holder != nil && holder != j && !j.finished() {
			o, err := w.Obstacles(ctx, "", j.body.ID)
			must("Obstacles", err)
			if o.Turn != holder.body.ID || o.HasTurn || o.QueuePausedAt.IsZero() == w.paused[j.body.Queue] {
				play.Brokenf("Order", "%v waits for the turn of %v, paused: %v, and is told of %+v", j, holder, w.paused[j.body.Queue], o)
			}
		}
	}
}

// surveyEarlier looks at what jobs have published and streamed that continued as new: all that was
// streamed, and what was published last under each name.
func (w *witness) surveyEarlier(ctx context.Context) {
	for _, j := range w.order {
		if len(j.earlier) == 0 {
			continue
		}
		all := slices.Concat(j.earlier, j.journal)
		var streamed []store.Entry
		last := map[string]store.Entry{}
		for _, e := range all {
			switch e.Kind {
			case store.EntryStreamed:
				streamed = append(streamed, e)
			case store.EntryPublished:
				last[e.Name] = e
			default:
			}
		}
		got := w.entries(ctx, store.JournalParams{Job: j.body.ID, Kinds: []store.EntryKind{store.EntryStreamed}, Limit: 1000})
		if !slices.EqualFunc(got, streamed, sameEntry) {
			play.Brokenf("Remembered", "%v has streamed %+v, and should have %+v", j, got, streamed)
		}
		for _, name := range names {
			got := w.entries(ctx, store.JournalParams{
				Job: j.body.ID, Kinds: []store.EntryKind{store.EntryPublished}, Name: name, Newest: true, Limit: 1,
			})
			want, published := last[name]
			if published != (len(got) > 0) || published && !sameEntry(got[0], want) {
				play.Brokenf("Remembered", "%v has published %+v, and should have %+v", j, got, want)
			}
		}
	}
}

func (w *witness) entries(ctx context.Context, p store.JournalParams) []store.Entry {
	p.Earlier = true
	entries, err := w.Entries(ctx, p)
	must("Entries", err)
	return entries
}

func sameEntry(a, b store.Entry) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Name == b.Name && a.Ref == b.Ref && a.LeaseNumber == b.LeaseNumber &&
		bytes.Equal(a.Data, b.Data)
}

func sameMessage(a, b store.Message) bool {
	return a.Seq == b.Seq && a.Kind == b.Kind && a.Name == b.Name && a.From == b.From && a.State == b.State && bytes.Equal(a.Data, b.Data)
}

// read is what the store says of a job.
func (w *witness) read(ctx context.Context, j *job) store.Record {
	r, err := w.Get(ctx, "", j.body.ID)
	if err != nil {
		play.Brokenf("NoLoss", "%v, which should be %v, is answered with %v", j, j.state, err)
	}
	return r
}

// running are the jobs under leases of a node.
func (w *witness) running(node int64) []*job {
	var found []*job
	for _, j := range w.order {
		if j.running() && j.lease.Node == node {
			found = append(found, j)
		}
	}
	return found
}
