package kept

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Page is what one Expired of a store has found.
type Page struct {
	Limit int

	jobs []store.EndedJob
	has  map[store.ID]bool
}

// Full reports whether the page has as many jobs as it may have.
func (p *Page) Full() bool { return len(p.jobs) >= p.Limit }

// Room is how many more it may have.
func (p *Page) Room() int { return p.Limit - len(p.jobs) }

// Add adds a job, unless the page is full or has it.
func (p *Page) Add(e Ended) {
	if p.Full() || p.has[e.ID] {
		return
	}
	if p.has == nil {
		p.has = map[store.ID]bool{}
	}
	p.has[e.ID] = true
	p.jobs = append(p.jobs, store.EndedJob{ID: e.ID, State: e.State, FinishedAt: time.UnixMicro(e.At).UTC()})
}

// Jobs are those that it has.
func (p *Page) Jobs() []store.EndedJob { return p.jobs }

// Of is a job as an Expired has told it.
func Of(j *store.EndedJob) Ended {
	return Ended{ID: j.ID, State: j.State, At: j.FinishedAt.UnixMicro(), Archived: j.Archived}
}
