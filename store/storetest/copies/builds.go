package copies

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// buildsCopied: the target had nodes, of other programs, with the ids of those of the source.
func buildsCopied(p *pair) {
	join := func(e *env.Env, program string) int64 {
		node, err := e.Store.Join(e.Ctx, store.NodeInfo{Version: program, Engine: "e" + program, Slots: 1})
		e.NoError("Join", err)
		return node
	}
	for i := range 6 {
		p.to.Leave(join(p.to, "other"))
		if i == 2 { // of some only their builds are left
			p.to.Clock.Advance(25 * time.Hour)
			p.to.Retain(store.Retention{Limit: 10})
		}
	}
	var ids []store.ID
	programs := []string{"v1", "v2", "v3", "v4", "v5", "v6"}
	for _, program := range programs {
		id := p.from.Add(env.Attempts(3))
		node := join(p.from, program)
		p.from.End(p.from.ClaimOne(node, id), store.Available)
		p.from.End(p.from.ClaimOne(node, id), store.Completed)
		p.from.Leave(node)
		ids = append(ids, id)
	}
	p.copy(1, 1)
	p.wantAlike()
	for i, program := range programs {
		r := p.to.Get(ids[i])
		want := store.Build{Program: program, Engine: "e" + program}
		p.to.Equal("the build", r.Build, want)
		p.to.Equal("the build of the attempt", r.Attempts[0].Build, want)
	}
}
