package updates

import (
	"context"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what runs and callers ask about requests.
type Store struct{ *local.Store }

// OpenUpdates is that of store.Updates, without the class of its error.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	if len(of) == 0 {
		return nil, nil
	}
	open := make([][]store.Update, len(of))
	jobs, after := make([]pgtype.UUID, len(of)), make([]int64, len(of))
	for i, u := range of {
		jobs[i], after[i] = pg.UUIDOf(u.Job), u.Seq
	}
	args := []any{jobs, after, int32(store.UpdateBound)}
	err := s.Send(ctx, pg.Statement{Name: "updates_open", Args: args, Each: func(r pg.Row) error {
		var place, at int64
		var codec int32
		var u store.Update
		if err := r.Scan(&place, &u.Seq, &at, &codec, &u.Key, &u.Name, &u.Data); err != nil {
			return err
		}
		u.At, u.Codec = pg.TimeOf(at), int(codec)
		open[place-1] = append(open[place-1], u)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return open, nil
}

// GetUpdate is that of store.Updates, without the class of its error.
func (s *Store) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (u store.Update, err error) {
	there := false
	args := []any{pg.UUIDOf(job), pg.CleanText(key), pg.OptText(namespace)}
	err = s.Send(ctx, pg.Statement{Name: "update", Args: args, Each: func(r pg.Row) error {
		var seq, answeredAt *int64
		var at int64
		var codec int32
		var verdict *int16
		var answerCodec *int32
		var words *string
		var a store.UpdateAnswer
		there = true
		err := r.Scan(&seq, &at, &codec, &u.Key, &u.Name, &u.Data, &verdict, &answeredAt, &answerCodec, &a.Data, &words)
		if err != nil || seq == nil {
			return err
		}
		u.Seq, u.At, u.Codec = *seq, pg.TimeOf(at), int(codec)
		if verdict != nil {
			a.Seq, a.Verdict, a.At = u.Seq, store.UpdateVerdict(*verdict), pg.OptTime(answeredAt)
			a.Codec, a.Error = int(pg.OptInt(answerCodec)), pg.TextOf(words)
			u.Answer = &a
		}
		return nil
	}})
	switch {
	case err != nil:
		return store.Update{}, err
	case !there:
		return store.Update{}, store.NoJob(job)
	case u.Seq == 0:
		return store.Update{}, refusal.NoUpdate(job, key)
	}
	return u, nil
}

// ForgetUpdate is that of store.Updates, without the class of its error.
func (s *Store) ForgetUpdate(ctx context.Context, namespace string, job store.ID, key string) error {
	args := []any{pg.UUIDOf(job), pg.CleanText(key), pg.OptText(namespace)}
	return s.Send(ctx, pg.Statement{Name: "update_forget", Args: args})
}
