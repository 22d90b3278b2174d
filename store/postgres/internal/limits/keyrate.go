package limits

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// keyRate are the columns of the rate of each key of a limit, NULL without one.
type keyRate struct{ period, burst *int64 }

func keyRateOf(l *store.Limit) keyRate {
	period, burst, rated := gcra.KeyRate(&l.LimitSettings)
	if !rated {
		return keyRate{}
	}
	return keyRate{&period, &burst}
}

// NextOf is that of store.Limits, without the class of its error.
func (s *Store) NextOf(ctx context.Context, namespace, limit, key string) (next time.Time, err error) {
	args := []any{pg.CleanText(namespace), pg.CleanText(limit), store.GateOf(namespace, limit, key), s.Injected()}
	return next, s.Read(ctx, pg.Statement{Name: "key_rate", Args: args, Each: func(r pg.Row) error {
		var period, burst, since, now int64
		var tat, was *int64
		err := r.Scan(&period, &burst, &since, &tat, &was, &now)
		k := gcra.Stand(period, burst, pg.OptInt(tat), pg.OptInt(was), since, now)
		if next = (time.Time{}); k.Period > 0 && k.Wait() > 0 {
			next = pg.TimeOf(now + k.Wait())
		}
		return err
	}})
}
