package limits

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Export returns all limits for a copy: what nodes hold of them, and their ids, stay behind.
func Export(ctx context.Context, t pg.Runner) (found []store.Limit, err error) {
	found = []store.Limit{}
	err = listSince("", "", 0, &found).On(ctx, t)
	for i := range found {
		found[i].ID, found[i].Holders, found[i].Wishes, found[i].WantedAt = 0, nil, nil, time.Time{}
	}
	return found, err
}

type limitRow struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Settings  string  `json:"settings"`
	Declared  *string `json:"declared"`
	Capacity  int     `json:"capacity"`
	Unit      *int64  `json:"unit"`
	Version   int64   `json:"version"`
	CreatedAt int64   `json:"created_at"`
	UpdatedAt int64   `json:"updated_at"`

	Period  *int64 `json:"period"`
	Burst   int64  `json:"burst"`
	Tat     int64  `json:"tat"`
	Move    int64  `json:"move"`
	Drained int64  `json:"drained"`

	KeyPeriod *int64 `json:"key_period"`
	KeyBurst  *int64 `json:"key_burst"`
}

// Import makes the limits of a database those of another one, unless they are nil.
func Import(ctx context.Context, t pg.Runner, limits []store.Limit) error {
	if limits == nil {
		return nil
	}
	rows := make([]limitRow, len(limits))
	for i := range limits {
		l := &limits[i]
		settings, err := l.Encode()
		if err != nil {
			return err
		}
		r, perKey := gcra.Of(l), keyRateOf(l)
		rows[i] = limitRow{
			l.Namespace, l.Name, settings, pg.OptText(l.Declared), l.Slots(), unitOf(l), l.Version, l.CreatedAt.UnixMicro(), l.UpdatedAt.UnixMicro(),
			periodOf(l, &r), r.Burst, r.Tat, r.Move, r.Drained, perKey.period, perKey.burst,
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return t.Run(ctx, "copy_limits_put", nil, string(text))
}
