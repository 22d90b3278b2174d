package claims

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// room is how many jobs a claim may still take, in all and by each demand.
type room struct {
	all     int
	demands store.Demands
	left    []store.QueueDemand
}

func newRoom(params *store.ClaimParams) *room {
	return &room{params.Limit, store.NewDemands(params.Queues), slices.Clone(params.Queues)}
}

// has reports whether there is room for a job.
func (r *room) has(job *store.Job) bool {
	if r.all <= 0 {
		return false
	}
	at := r.of(job)
	return at < 0 || r.left[at].Limit > 0
}

// take takes it.
func (r *room) take(job *store.Job) {
	r.all--
	if at := r.of(job); at >= 0 {
		r.left[at].Limit--
	}
}

// of returns the place of the demand by which the job is taken, -1 without demands.
func (r *room) of(job *store.Job) int {
	if r.left == nil {
		return -1
	}
	return r.demands.For(job.Queue, job.ClaimKind())
}
