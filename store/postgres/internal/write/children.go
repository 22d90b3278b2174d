package write

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// answering returns the runs that answer the parents of their jobs if they end them, in the order
// of the batch.
func answering(runs []*Run) []*Run {
	var list []*Run
	for _, r := range runs {
		if r.Answers {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *Run) int { return cmp.Compare(a.Place, b.Place) })
	return list
}

// IDsOf returns the jobs of runs.
func IDsOf(runs []*Run) []pgtype.UUID {
	ids := make([]pgtype.UUID, len(runs))
	for i, r := range runs {
		ids[i] = pg.UUIDOf(r.Lease.Job)
	}
	return ids
}

// Answer is the statement that tells the parents of jobs that have just finished; all are the runs
// of the whole batch. What a parent knows depends on whether its own run in the batch comes before
// that of its child, or after it.
func Answer(children, all []*Run, now int64) pg.Statement {
	places := make([]int32, len(children))
	of := make(map[store.ID]*Run, len(children))
	for i, r := range children {
		places[i] = int32(r.Place)
		r.told, of[r.Lease.Job] = told{}, r
	}
	var parents []pgtype.UUID
	var parentPlaces []int32
	var continues []bool
	for _, r := range all {
		if r.Traits&pg.TraitDurable != 0 {
			parents, parentPlaces = append(parents, pg.UUIDOf(r.Lease.Job)), append(parentPlaces, int32(r.Place))
			continues = append(continues, r.next != nil)
		}
	}
	args := []any{IDsOf(children), now, places, parents, parentPlaces, continues}
	return pg.Statement{Name: "answer", Args: args, Each: func(r pg.Row) error {
		var parent, child pgtype.UUID
		var seq int64
		err := r.Scan(&parent, &seq, &child)
		if run := of[child.Bytes]; run != nil {
			run.told = told{parent.Bytes, seq}
		}
		return err
	}}
}
