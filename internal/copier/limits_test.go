package copier_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// limit makes a limit, or replaces the one with this version.
func limit(t *testing.T, s store.Store, name string, version int64) store.Limit {
	t.Helper()
	saved, err := s.SaveLimit(t.Context(), store.Limit{
		Namespace: "default", Name: name, LimitSettings: store.LimitSettings{Capacity: 5, Kinds: map[string]int{"send": 2}},
	}, version, "")
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// TestLimitsAreCopied: limits are in the target as they are in the source; one that is changed
// while it is copied is noticed, and the next copy has it.
func TestLimitsAreCopied(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			source, target := open(t, clock), onSQLite(t, clock)
			first := limit(t, source, "partner", 0)
			looks := 0
			watched := &watched{Store: source, Copies: facet(source), before: func(call string) {
				if call == "survey" {
					if looks++; looks == 2 {
						limit(t, source, "partner", first.Version)
					}
				}
			}}
			if _, err := copier.Copy(t.Context(), watched, target, quietly); !errors.Is(err, store.ErrConflict) {
				t.Errorf("the copy: %v", err)
			}
			report, err := copier.Copy(t.Context(), source, target, quietly)
			if err != nil || report.Limits != 1 {
				t.Errorf("the second copy: %+v, %v", report, err)
			}
			want, err := source.Limits(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := target.Limits(t.Context(), "", "")
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Limit{}, "ID")); err != nil || diff != "" || len(got) != 1 {
				t.Errorf("%v, (-source +target):\n%s", err, diff)
			}
			limit(t, target, "other", 0)
			if _, err := copier.Copy(t.Context(), source, target, quietly); !errors.Is(err, store.ErrConflict) {
				t.Errorf("a copy after the target was changed: %v", err)
			}
		})
	}
}
