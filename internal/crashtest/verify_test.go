package crashtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// history is all that is known of a test when everything has finished.
type history struct {
	plan     map[int]work
	enqueued map[holdfast.ID]int // what the enqueues returned: which job is at which place of the plan
	undone   map[holdfast.ID]int // what those returned whose transactions were rolled back
	notes    []note              // what the transactions that enqueued jobs wrote beside them
	cancels  map[holdfast.ID]request
	retries  map[holdfast.ID]request
	retried  []holdfast.ID // what the database recorded of them
	effects  []effect      // in the order of the file
	records  map[holdfast.ID]store.Record
	deaths   map[int64]death // by node
	rules    rules
}

// death is what is known of a node that was declared dead.
type death struct {
	name string
	// slow: its process lived. Only the runs of such a node may go on after their jobs were taken
	// from them.
	slow    bool
	at      time.Time     // by the database, as is
	silence time.Duration // since its last beat
}

// rules are what a database promises.
type rules struct {
	dead        time.Duration // the silence that a node must keep to be declared dead
	killIsKnown bool          // a node whose process was killed is known to be dead without a silence
	leeway      time.Duration // by how much a job may be claimed before its time
}

// blink is how far apart two looks at the clock may be within one statement: PostgreSQL reads it
// for each node again.
const blink = 20 * time.Millisecond

// figures count what happened.
type figures struct {
	jobs, runs, effects, lost, late, refused int

	duplicates map[store.Reason]int // effects but the one that counts, by how their attempt ended
	asked      map[store.State]int  // cancels, by the answer
	stopped    int                  // runs that were cancelled
	again      int                  // jobs that were retried
}

func (f figures) String() string {
	return fmt.Sprintf("%d jobs, %d runs, %d attempts lost with their node, %d effects, of which further ones of the same job %v; "+
		"%d late records, %d refused checkpoints; cancels answered %v, %d runs cancelled, %d retries", f.jobs, f.runs, f.lost, f.effects,
		f.duplicates, f.late, f.refused, f.asked, f.stopped, f.again)
}

// verifier collects what is wrong.
type verifier struct {
	history
	figures
	problems []string
	byJob    map[holdfast.ID][]effect
	byPlace  map[int][]holdfast.ID
}

// jobHistory is what is known of one job.
type jobHistory struct {
	work
	store.Record
	effects []effect
	ended   map[int64]store.Attempt // the attempts on record, by lease
	cancel  *request
	retry   *request
}

// verify compares what was planned, what was done and what the database says.
func verify(h history) ([]string, figures) {
	v := &verifier{history: h, byJob: map[holdfast.ID][]effect{}, byPlace: map[int][]holdfast.ID{}}
	v.figures = figures{
		jobs: len(h.records), again: len(h.retries), duplicates: map[store.Reason]int{}, asked: map[store.State]int{},
	}
	for _, e := range h.effects {
		v.byJob[e.Job] = append(v.byJob[e.Job], e)
	}
	for _, c := range h.cancels {
		v.asked[c.state]++
	}
	jobs := v.jobs()
	v.identities(jobs)
	v.transactions(jobs)
	v.graves()
	v.audit(jobs)
	for _, j := range jobs {
		v.attempts(j)
		v.numbers(j)
		v.end(j)
		v.due(j)
		v.leases(j)
		v.runs(j)
		v.checkpoints(j)
	}
	v.order(jobs)
	slices.Sort(v.problems)
	return v.problems, v.figures
}

func (v *verifier) wrongf(n int, format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf("job %d: ", n)+fmt.Sprintf(format, args...))
}

// jobs brings together what is known of each job that the database has.
func (v *verifier) jobs() map[holdfast.ID]*jobHistory {
	jobs := map[holdfast.ID]*jobHistory{}
	for id, record := range v.records {
		var args work
		if err := json.Unmarshal(record.Args, &args); err != nil {
			v.wrongf(0, "job %s has args %q: %v", id, record.Args, err)
			continue
		}
		if args != v.plan[args.N] {
			v.wrongf(args.N, "has args %+v, planned were %+v", args, v.plan[args.N])
		}
		j := &jobHistory{work: args, Record: record, effects: v.byJob[id], ended: map[int64]store.Attempt{}}
		if c, ok := v.cancels[id]; ok {
			j.cancel = &c
		}
		if r, ok := v.retries[id]; ok {
			j.retry = &r
		}
		jobs[id] = j
		v.byPlace[args.N] = append(v.byPlace[args.N], id)
	}
	return jobs
}

// identities checks that the jobs that were enqueued are those that are there, each once.
func (v *verifier) identities(jobs map[holdfast.ID]*jobHistory) {
	for id, n := range v.enqueued {
		switch j, ok := jobs[id]; {
		case !ok:
			v.wrongf(n, "job %s was enqueued and is lost", id)
		case j.N != n:
			v.wrongf(n, "was enqueued as job %s, which is job %d", id, j.N)
		}
	}
	for id, effects := range v.byJob {
		if _, ok := jobs[id]; !ok {
			v.wrongf(effects[0].N, "job %s ran and is lost", id)
		}
	}
	for n, w := range v.plan {
		if ids := v.byPlace[n]; len(ids) != 1 {
			v.wrongf(n, "is in the database as %d jobs, %v; unique %t", len(ids), ids, w.Unique)
		}
	}
}

// transactions checks that a job that was enqueued in a caller's transaction is there if and only
// if the rest of the transaction is.
func (v *verifier) transactions(jobs map[holdfast.ID]*jobHistory) {
	inserted := map[holdfast.ID]int{}
	for _, note := range v.notes {
		if j, ok := jobs[note.job]; !ok || j.N != note.n {
			v.wrongf(note.n, "job %s was enqueued in a transaction that committed, and is not there", note.job)
		}
		if note.fresh {
			inserted[note.job]++
		}
	}
	for id, j := range jobs {
		if want := map[bool]int{true: 1}[j.Tx]; inserted[id] != want {
			v.wrongf(j.N, "job %s was inserted by %d transactions that committed, not by %d", id, inserted[id], want)
		}
	}
	for id, n := range v.undone {
		if _, ok := jobs[id]; ok || len(v.byJob[id]) > 0 {
			v.wrongf(n, "job %s was enqueued in a transaction that was rolled back, and is there", id)
		}
	}
}

// graves checks that no node was declared dead before its time. A node that was killed may be known
// to be dead at once.
func (v *verifier) graves() {
	for node, d := range v.deaths {
		if (d.slow || !v.rules.killIsKnown) && d.silence < v.rules.dead-blink {
			v.wrongf(0, "node %d, %s, was declared dead after a silence of %v; its process lived: %t", node, d.name, d.silence, d.slow)
		}
	}
}

// audit checks that each retry is on record, and no other.
func (v *verifier) audit(jobs map[holdfast.ID]*jobHistory) {
	recorded := map[holdfast.ID]int{}
	for _, id := range v.retried {
		recorded[id]++
	}
	for id, j := range jobs {
		if want := map[bool]int{true: 1}[j.retry != nil]; recorded[id] != want {
			v.wrongf(j.N, "%d retries are on record, there were %d", recorded[id], want)
		}
	}
}

// taken reports whether a run was ended by the rescue of its job from a dead node.
func (v *verifier) taken(a store.Attempt) bool {
	_, dead := v.deaths[a.Node]
	return a.Reason == store.ReasonNodeLost || a.Reason == store.ReasonCancelled && dead
}
