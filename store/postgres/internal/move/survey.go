package move

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/attributes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/batches"
	"github.com/holdfastdev/holdfast/store/postgres/internal/classes"
	"github.com/holdfastdev/holdfast/store/postgres/internal/limits"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/postgres/internal/schedules"
)

// Store reads and writes whole jobs.
type Store struct{ *local.Store }

// Survey is that of store.Copies, without the class of its error.
func (s *Store) Survey(ctx context.Context) (found store.Survey, err error) {
	err = s.InTx(ctx, pg.BeginScan, func(t pg.Session) (err error) {
		found = store.Survey{Counts: map[store.State]int64{}}
		if found.Origin, found.Note, err = origin(ctx, t); err != nil {
			return err
		}
		if err := t.Run(ctx, "copy_messages_count", func(r pg.Row) error { return r.Scan(&found.Origin.Messages) }); err != nil {
			return err
		}
		if found.Queues, err = queues(ctx, t); err != nil {
			return err
		}
		if found.Schedules, err = schedules.Sum(ctx, t); err != nil {
			return err
		}
		if found.Batches, err = batches.Sum(ctx, t); err != nil {
			return err
		}
		if found.Limits, err = limits.Export(ctx, t); err != nil {
			return err
		}
		if found.Classes, err = classes.All(ctx, t); err != nil {
			return err
		}
		if found.Attributes, err = attributes.All(ctx, t); err != nil {
			return err
		}
		if err := t.Run(ctx, "copy_ids", func(r pg.Row) error {
			var high, low string
			if err := r.Scan(&high, &low); err != nil {
				return err
			}
			found.AddID(modulo(high), modulo(low))
			return nil
		}); err != nil {
			return err
		}
		return t.Run(ctx, "copy_counts", func(r pg.Row) error {
			var state int32
			var n int64
			if err := r.Scan(&state, &n); err != nil || n == 0 {
				return err
			}
			found.Counts[store.State(state)] += n
			return nil
		})
	})
	return found, err
}

// origin returns what tells the database from others, and the note of a copy into it, nil if there
// was none.
func origin(ctx context.Context, t pg.Session) (o store.Origin, n *store.CopyNote, err error) {
	note := ""
	err = t.Run(ctx, "copy_origin", func(r pg.Row) error { return r.Scan(&o.Database, &o.Nodes, &o.Actions, &note) })
	if err != nil || note == "" {
		return o, nil, err
	}
	n = &store.CopyNote{}
	if err := json.Unmarshal([]byte(note), n); err != nil {
		return o, nil, fmt.Errorf("%w: the note of a copy: %w", store.ErrInvalid, err)
	}
	return o, n, nil
}

func queues(ctx context.Context, t pg.Session) (list []store.QueueSettings, err error) {
	err = t.Run(ctx, "copy_queues", func(r pg.Row) error {
		var q store.QueueSettings
		var created, paused, rests, deleted *int64
		var by, attempts *string
		err := r.Scan(&q.Namespace, &q.Name, &created, &paused, &by, &rests, &q.Rest.Level, &attempts, &deleted)
		if err != nil {
			return err
		}
		q.Rest.Until = pg.OptTime(rests)
		q.CreatedAt, q.PausedAt, q.PausedBy, q.DeletedAt = pg.OptTime(created), pg.OptTime(paused), pg.TextOf(by), pg.OptTime(deleted)
		q.Attempts, err = store.DecodeQueueAttempts(pg.TextOf(attempts))
		list = append(list, q)
		return err
	})
	return list, err
}

// modulo is a sum as the other database makes it, which drops what is above 64 bits.
func modulo(sum string) uint64 {
	n, ok := new(big.Int).SetString(sum, 10)
	if !ok {
		return 0
	}
	return n.Mod(n, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64()
}
