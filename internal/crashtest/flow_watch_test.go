package crashtest

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// look is what a flow said when its journal had stored some of it.
type look struct {
	gen   int
	told  []stored
	words words
}

// keepWatching looks at what unfinished jobs say, which may be gone when they have ended, until ctx
// ends.
func (l *flowLoad) keepWatching(ctx context.Context, random *rand.Rand) {
	for spend(ctx, 20*time.Millisecond) == nil {
		page, err := l.clients[0].List(ctx, unfinished, "", 200)
		if err != nil {
			l.c.allow(err)
			continue
		}
		for _, r := range page.Jobs {
			l.see(&r)
		}
		for range min(3, len(page.Jobs)) {
			if err := l.glimpse(ctx, page.Jobs[random.IntN(len(page.Jobs))].ID); err != nil {
				l.c.allow(err)
			}
		}
	}
}

// see notes what a job says, if it is something else than before.
func (l *flowLoad) see(r *store.Record) {
	var w words
	if r.Metadata == nil || json.Unmarshal(r.Metadata, &w) != nil || w.Job != r.ID || !slices.Equal(r.Tags, []string{w.tag()}) {
		return // what is wrong with it stays so
	}
	seen := l.seen[r.ID]
	if len(seen) == 0 || seen[len(seen)-1] != w {
		l.seen[r.ID] = append(seen, w)
	}
}

// glimpse compares a flow's journal with what the flow says after that.
func (l *flowLoad) glimpse(ctx context.Context, id holdfast.ID) error {
	journal, err := l.clients[0].Journal(ctx, id)
	if err != nil {
		return err
	}
	r, err := l.clients[0].Get(ctx, id)
	if err != nil {
		return err
	}
	j, now := flowJob{journal: journal}, task{}
	if json.Unmarshal(journal.Args, &j.task) != nil || json.Unmarshal(r.Args, &now) != nil || now.Gen != j.Gen || !j.Talks {
		return nil //nolint:nilerr // see what is known of it at the end
	}
	g := look{gen: j.Gen, told: j.told()}
	if len(g.told) == 0 {
		return nil
	}
	if r.Metadata != nil && json.Unmarshal(r.Metadata, &g.words) != nil {
		return nil //nolint:nilerr // as above
	}
	l.looks[id] = append(l.looks[id], g)
	return nil
}
