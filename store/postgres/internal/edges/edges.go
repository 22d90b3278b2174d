package edges

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// List are the dependencies of several jobs, in arrays, as the statements want them.
type List struct {
	on, jobs []pgtype.UUID
	policies []int32
	spaces   []string
}

// Add adds those of a job.
func (l *List) Add(job *store.Job, after []store.Dependency) {
	for _, d := range store.Distinct(after) {
		l.on, l.jobs = append(l.on, pg.UUIDOf(d.On)), append(l.jobs, pg.UUIDOf(job.ID))
		l.policies, l.spaces = append(l.policies, int32(d.IfFailed)), append(l.spaces, job.Namespace)
	}
}

// Open finds out which of them have to be waited for, and for which there is no predecessor. waits
// are predecessors that the job waits for already: such an edge is put again however they have
// ended, with the policy that is given now.
func (l *List) Open(ctx context.Context, t pg.Runner, waits map[store.ID]bool) (open List, missing map[store.ID]store.ID, err error) {
	states := make([]store.State, len(l.on))
	there := make([]bool, len(l.on))
	err = t.Run(ctx, "edge_look", func(r pg.Row) error {
		var place int64
		var state int32
		err := r.Scan(&place, &state)
		if err == nil {
			there[place-1], states[place-1] = true, store.State(state)
		}
		return err
	}, l.on, l.spaces)
	missing = map[store.ID]store.ID{}
	for i := range l.on {
		switch job := store.ID(l.jobs[i].Bytes); {
		case there[i] && !waits[l.on[i].Bytes] && store.FailurePolicy(l.policies[i]).Lets(states[i]):
		case there[i]:
			open.on, open.jobs, open.policies = append(open.on, l.on[i]), append(open.jobs, l.jobs[i]), append(open.policies, l.policies[i])
		case missing[job] == store.ID{}: // the first tells
			missing[job] = l.on[i].Bytes
		}
	}
	return open, missing, err
}

// Put writes them, and holds the jobs that have a pointer and are not held. It returns these. With
// mark the bodies of predecessors are marked that can be had at this moment; it is for transactions
// that are over soon.
func (l *List) Put(ctx context.Context, t pg.Runner, now int64, mark bool) (held map[store.ID]bool, err error) {
	held = map[store.ID]bool{}
	if len(l.on) == 0 {
		return held, nil
	}
	return held, t.Run(ctx, "edge_put", func(r pg.Row) error {
		var id string
		err := r.Scan(&id)
		if err == nil {
			var parsed store.ID
			err = parsed.UnmarshalText([]byte(id))
			held[parsed] = true
		}
		return err
	}, l.on, l.jobs, l.policies, now, mark)
}

// IsEmpty reports whether there are none.
func (l *List) IsEmpty() bool { return len(l.on) == 0 }
