package write

import (
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// checkpoints is the statement that writes checkpoints, which must be of different jobs. It fails
// with pg.CodeRefused if not all of their leases live.
func checkpoints(writes []*store.CheckpointWrite, now int64) pg.Statement {
	slices.SortFunc(writes, func(a, b *store.CheckpointWrite) int { return pg.CompareLeases(a.Lease, b.Lease) })
	g := groupLeases(len(writes), func(i int) store.Lease { return writes[i].Lease })
	percents, messages, values := make([]float64, len(writes)), make([]*string, len(writes)), make([]*string, len(writes))
	for i, w := range writes {
		percents[i], messages[i] = w.Checkpoint.Percent, pg.OptText(w.Checkpoint.Message)
		if len(w.Checkpoint.Value) > 0 {
			value := string(w.Checkpoint.Value)
			values[i] = &value
		}
		if math.IsNaN(percents[i]) {
			percents[i] = 0 // JSON has no NaN, and the job is read as JSON
		}
	}
	return pg.Statement{Name: "checkpoint", Args: append(g.args(), percents, pg.IfAny(messages), pg.IfAny(values), now)}
}

// lastOfEach splits writes into the last one under each lease, which is what remains, and those
// that it replaces. The latter share its fate.
func lastOfEach(writes []*store.CheckpointWrite) (
	last []*store.CheckpointWrite, replaced map[*store.CheckpointWrite]*store.CheckpointWrite,
) {
	of := make(map[store.Lease]*store.CheckpointWrite, len(writes))
	for _, w := range writes {
		if before := of[w.Lease]; before != nil {
			w.Meta = before.Meta.Over(w.Meta) // what it says stands beside the checkpoint
		}
		of[w.Lease] = w
	}
	replaced = map[*store.CheckpointWrite]*store.CheckpointWrite{}
	for _, w := range writes {
		if of[w.Lease] == w {
			last = append(last, w)
		} else {
			replaced[w] = of[w.Lease]
		}
	}
	return last, replaced
}
