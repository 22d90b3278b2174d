package facts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
)

// page is how many facts are merged at once.
const page = 500

// Merge makes hours of the minutes that are older than store.FactMinutesKept, and removes the hours
// that are older than store.FactHoursKept. lost is how many facts could not be read, as a later
// program wrote them: they are removed all the same. If another process does it too, one of them
// gives up.
func Merge(ctx context.Context, st Store) (lost int, err error) {
	now := st.Now().UTC()
	for err == nil {
		var done bool
		var unread int
		unread, done, err = mergePage(ctx, st, now.Add(-store.FactMinutesKept).Truncate(time.Hour))
		if err == nil {
			lost += unread
		}
		if done {
			break
		}
	}
	for err == nil {
		var old []store.Fact
		old, err = st.Facts(ctx, store.FactParams{Span: store.FactHour, All: true, To: now.Add(-store.FactHoursKept), Limit: page})
		if err != nil || len(old) == 0 {
			break
		}
		err = st.MergeFacts(ctx, keysOf(old), nil)
	}
	if errors.Is(err, store.ErrConflict) {
		return lost, nil
	}
	return lost, err
}

func keysOf(facts []store.Fact) []store.FactKey {
	keys := make([]store.FactKey, len(facts))
	for i := range facts {
		keys[i] = facts[i].FactKey
	}
	return keys
}

// hour is what is merged into one fact.
type hour struct {
	fact store.Fact
	jobs tally.Set
}

// mergePage merges the oldest minutes before a time, those of one hour.
func mergePage(ctx context.Context, st Store, before time.Time) (lost int, done bool, err error) {
	old, err := st.Facts(ctx, store.FactParams{Span: store.FactMinute, All: true, To: before, Limit: page})
	if err != nil || len(old) == 0 {
		return 0, true, err
	}
	at := old[0].At.UTC().Truncate(time.Hour)
	next := at.Add(time.Hour)
	if i := slices.IndexFunc(old, func(f store.Fact) bool { return !f.At.Before(next) }); i >= 0 {
		old = old[:i]
	}
	hours, lost, err := hoursOf(ctx, st, at, old)
	if err != nil {
		return 0, false, err
	}
	gone := keysOf(old)
	for _, h := range hours {
		if h.fact.Version > 0 {
			gone = append(gone, h.fact.FactKey) // which is written again
		}
	}
	for i := range old {
		f := &old[i]
		h := hours[f.Namespace]
		if h == nil {
			h = &hour{fact: store.Fact{FactKey: store.FactKey{At: at, Namespace: f.Namespace, Span: store.FactHour}}}
			hours[f.Namespace] = h
		}
		lost += h.add(f)
	}
	merged := make([]store.Fact, 0, len(hours))
	for _, space := range slices.Sorted(maps.Keys(hours)) {
		h := hours[space]
		h.fact.Version++
		if h.jobs.Len() > 0 {
			h.fact.Jobs = h.jobs.Encode()
		}
		merged = append(merged, h.fact)
	}
	return lost, false, st.MergeFacts(ctx, gone, merged)
}

// hoursOf are those that there are already of the namespaces of some facts, and how many of them
// could not be read.
func hoursOf(ctx context.Context, st Store, at time.Time, old []store.Fact) (hours map[string]*hour, lost int, err error) {
	hours = map[string]*hour{}
	seen := map[string]bool{}
	for i := range old {
		space := old[i].Namespace
		if seen[space] {
			continue
		}
		seen[space] = true
		found, err := st.Facts(ctx, store.FactParams{
			Span: store.FactHour, Namespace: space, From: at, To: at.Add(time.Hour), Limit: 1,
		})
		if err != nil {
			return nil, 0, err
		}
		if len(found) == 0 {
			continue
		}
		h := &hour{fact: found[0]}
		lost += h.add(&found[0])
		hours[space] = h
	}
	return hours, lost, nil
}

// add adds a fact, and returns how many could not be read: 0 or 1.
func (h *hour) add(f *store.Fact) (lost int) {
	if f.Namespace == "" && f.Gauges != nil { // of the database; the last one stays
		h.fact.Gauges = f.Gauges
	}
	if f.Jobs == nil {
		return 0
	}
	set, err := tally.Decode(f.Jobs)
	if err != nil {
		return 1
	}
	h.jobs.Merge(set)
	return 0
}
