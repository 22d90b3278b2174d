package crashtest

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
)

// keys checks that no two jobs have a business key at the same time, and that what was sent along
// with an enqueue has arrived once, at the job that had the key.
func (v *flowVerifier) keys() {
	holders := map[[2]string][]*flowJob{} // by kind and key
	starts := map[holdfast.ID]*payment{}
	for _, p := range v.paid { // in the order in which they were made
		starts[p.item] = p
		if j := v.jobs[p.item]; j != nil && !p.lost {
			at := [2]string{j.Kind, j.Options.Key}
			holders[at] = append(holders[at], j)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(v.jobs), compareIDs) {
		if j := v.jobs[id]; j.Options.Key != "" {
			v.started(j, starts[id])
		}
	}
	for _, list := range holders {
		for i, j := range list[1:] {
			v.follows(list[i], j, starts[j.ID].at)
		}
	}
	v.payments()
}

// started checks that a job that has a key was started by a payment for it.
func (v *flowVerifier) started(j *flowJob, p *payment) {
	switch {
	case p == nil || p.undone:
		v.wrongf(oneHolder, j.ID, "has the key %q, and nobody has started it", j.Options.Key)
	case orderKey(p.order) != j.Options.Key || p.n != j.N:
		v.wrongf(oneHolder, j.ID, "has the key %q, and was started as job %d for %q", j.Options.Key, p.n, orderKey(p.order))
	case !p.lost && !p.began():
		v.wrongf(oneHolder, j.ID, "has the key %q, and job %s had it when it was to be started", j.Options.Key, p.sent.Job)
	}
}

// follows checks that a job which had a key at a time got it when the one that had it before had
// ended, and kept it no more. When a job ended that was let go on later is not known.
func (v *flowVerifier) follows(a, b *flowJob, at time.Time) {
	v.figures.keys++
	if len(a.reopenings())+len(b.reopenings()) > 0 {
		return
	}
	if early := a.FinishedAt.Add(a.Options.KeepKey).Sub(at); !a.State.Finished() || early > v.rules.leeway+blink {
		v.wrongf(oneHolder, b.ID, "had the key %q %v before job %s, %s, had given it up", b.Options.Key, early, a.ID, a.State)
	}
}

// kindOf is the kind of job that a payment is for.
func (v *flowVerifier) kindOf(p *payment) string {
	t := v.plan[p.n]
	return t.kind().Name()
}

// payments compares what was sent along with what has arrived.
func (v *flowVerifier) payments() {
	type arrival struct {
		job holdfast.ID
		seq int64
	}
	arrived := map[int][]arrival{}
	for id, j := range v.journals {
		for _, m := range j.Messages {
			var said key
			if m.Kind != "signal" || m.Name != paid.Name() {
				continue
			}
			if err := json.Unmarshal(m.Data, &said); err != nil {
				v.wrongf(oneHolder, id, "message %d says %s: %v", m.Seq, m.Data, err)
			}
			if f, ok := v.forks[id]; !ok || f.of == id {
				arrived[said.Number] = append(arrived[said.Number], arrival{id, m.Seq})
			}
		}
	}
	for _, p := range v.paid {
		v.figures.paid++
		got := arrived[p.number]
		switch {
		case p.undone && len(got) > 0:
			v.wrongf(oneHolder, got[0].job, "was sent payment %d, which was taken back", p.number)
		case len(got) > 1:
			v.wrongf(oneHolder, got[0].job, "payment %d has arrived %d times: %v", p.number, len(got), got)
		case p.lost || p.undone:
		case len(got) == 0 || got[0] != arrival{p.sent.Job, p.sent.Message}:
			v.wrongf(oneHolder, p.sent.Job, "payment %d was sent as message %d, and has arrived as %v", p.number, p.sent.Message, got)
		case p.began() != (p.sent.Job == p.item):
			v.wrongf(oneHolder, p.sent.Job, "payment %d has started it: %t, and was to start %s", p.number, p.began(), p.item)
		case v.jobs[p.sent.Job] == nil || v.jobs[p.sent.Job].Options.Key != orderKey(p.order) || v.jobs[p.sent.Job].Kind != v.kindOf(p):
			v.wrongf(oneHolder, p.sent.Job, "was sent payment %d for %q", p.number, orderKey(p.order))
		}
	}
}
