package stats

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/facts"
	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// merging makes hours of minutes between the reads of its reader.
type merging struct {
	*model.Store

	reads, at int // the merge comes before this read
}

func (s *merging) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	if s.reads++; s.reads == s.at {
		if _, err := facts.Merge(ctx, s.Store); err != nil {
			return nil, err
		}
	}
	return s.Store.Facts(ctx, params)
}

// TestReadWhileHoursAreMade: what is merged while it is read counts once, whenever that happens.
func TestReadWhileHoursAreMade(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 4; at++ {
		now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		s := &merging{Store: model.New(func() time.Time { return now }), at: at}
		k := facts.New(facts.Parts{Store: s, Namespace: "a"})
		from := now
		for range 90 {
			k.Started(&store.Job{Namespace: "a", Queue: "q", Kind: "k"}, now, 0)
			if err := k.Write(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			now = now.Add(time.Minute)
		}
		now = now.Add(store.FactMinutesKept - 20*time.Minute)
		w := Window{From: from, Step: time.Hour}
		if err := w.fill(now); err != nil {
			t.Fatal(err)
		}
		cells, q := map[cell]uint64{}, Query{}
		err := w.read(t.Context(), s, "a", now, func(f *store.Fact) error {
			counted := map[cell]*tally.Entry{}
			if err := q.add(counted, w.at(f.At), f); err != nil {
				return err
			}
			for c, e := range counted {
				cells[c] += e.Counts[0]
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if first, second := cells[cell{at: from.Unix()}], cells[cell{at: from.Add(time.Hour).Unix()}]; first != 60 || second != 30 {
			t.Errorf("merged before read %d: %d starts in the first hour, and %d in the second", at, first, second)
		}
	}
}
