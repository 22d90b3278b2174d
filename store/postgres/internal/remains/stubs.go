package remains

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Leave leaves the stubs of those of the jobs that places has a name for. They are still there, and
// are removed by this transaction. each is told how many, by namespace, queue and state.
func Leave(ctx context.Context, t pg.Runner, jobs []pgtype.UUID, places map[store.ID]string, now int64, each func(pg.Row) error) error {
	var ids []pgtype.UUID
	var names []string
	for _, id := range jobs {
		if place := places[id.Bytes]; place != "" {
			ids, names = append(ids, id), append(names, place)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return t.Run(ctx, "stubs_leave", each, ids, names, now)
}

func into(stubs *[]store.Stub) func(pg.Row) error {
	return func(r pg.Row) error {
		var id [16]byte
		var s store.Stub
		var state int32
		var finishedAt, archivedAt int64
		err := r.Scan(&id, &s.Namespace, &s.Queue, &s.Kind, &state, &finishedAt, &archivedAt, &s.Archive)
		s.ID, s.State, s.FinishedAt, s.ArchivedAt = id, store.State(state), pg.TimeOf(finishedAt), pg.TimeOf(archivedAt)
		s.Kind = store.ParseLaneName(s.Kind).Kind // as the lane had it
		*stubs = append(*stubs, s)
		return err
	}
}

// NoJob is the ErrNotFound of a job of a namespace that is not there: an *ArchivedError if it has
// left a stub.
func NoJob(ctx context.Context, d *pg.DB, namespace string, id store.ID) error {
	var stubs []store.Stub
	err := d.Read(ctx, pg.Statement{Name: "stub", Args: []any{pg.UUIDOf(id)}, Each: into(&stubs)})
	switch {
	case err != nil:
		return err
	case len(stubs) == 0 || namespace != "" && stubs[0].Namespace != namespace:
		return store.NoJob(id)
	}
	return &store.ArchivedError{Stub: stubs[0]}
}

// ForgetStubs removes up to limit stubs that are older than keep, and tells whether there may be
// more. 0 keeps them for ever.
func ForgetStubs(ctx context.Context, d *pg.DB, now time.Time, keep time.Duration, limit int) (more bool, err error) {
	if keep <= 0 {
		return false, nil
	}
	removed := 0
	err = pg.RetryOnConflict(ctx, func() error {
		return d.Send(ctx, pg.Statement{
			Name: "stubs_forget", Args: []any{now.Add(-keep).UnixMicro(), int32(limit)},
			Each: func(r pg.Row) error { return r.Scan(&removed) },
		})
	})
	return removed >= limit, err
}

// ExportStubs reads the stubs behind one, at most so many.
func ExportStubs(ctx context.Context, t pg.Runner, after store.ID, limit int) (stubs []store.Stub, err error) {
	return stubs, t.Run(ctx, "copy_stubs", into(&stubs), pg.UUIDOf(after), int32(limit))
}

type copied struct {
	ID         store.ID `json:"id"`
	Namespace  string   `json:"namespace"`
	Queue      string   `json:"queue"`
	Kind       string   `json:"kind"`
	State      int      `json:"state"`
	FinishedAt int64    `json:"finished_at"`
	ArchivedAt int64    `json:"archived_at"`
	Place      string   `json:"place"`
}

// ImportStubs puts stubs of another database.
func ImportStubs(ctx context.Context, t pg.Runner, stubs []store.Stub) error {
	if len(stubs) == 0 {
		return nil
	}
	var rows []copied
	for i := range stubs {
		s := &stubs[i]
		rows = append(rows, copied{
			s.ID, s.Namespace, s.Queue, s.Kind, int(s.State), s.FinishedAt.UnixMicro(), s.ArchivedAt.UnixMicro(), s.Archive,
		})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: stubs: %w", store.ErrInvalid, err)
	}
	return t.Run(ctx, "copy_stubs_put", nil, string(text))
}
