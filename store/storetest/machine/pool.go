package machine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// pool keeps a store open for several checks, since opening one may cost more than a check. A check
// that failed leaves the store to itself, so that the next one, which tries to reproduce it, begins
// with a fresh one.
type pool struct {
	t     *testing.T
	open  env.Factory
	clock *env.Clock
	ids   *env.IDs
	store store.Store
	uses  int
}

func (p *pool) take() store.Store {
	taken := p.store
	p.store = nil
	if taken == nil {
		p.clock = env.NewClock()
		p.ids = env.NewIDs(p.clock)
		taken = p.open(p.t, p.clock)
	}
	p.uses++
	return taken
}

// newMachine starts a check, in a namespace of its own.
func newMachine(t *rapid.T, p *pool, mode mode) *machine {
	s := p.take()
	return &machine{
		t: t, ctx: p.t.Context(), ids: p.ids, clock: p.clock, mode: mode,
		store: s, model: model.New(p.clock.Now), namespace: fmt.Sprintf("check%d", p.uses),
		closed: map[store.ID]bool{}, told: map[store.ID][][]string{}, versions: map[store.ID]store.JobBatch{},
	}
}
