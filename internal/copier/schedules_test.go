package copier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/copier"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

var midnight = time.Date(2026, time.January, 5, 0, 0, 0, 0, time.UTC)

// save makes a schedule, or replaces the one with this version.
func save(t *testing.T, s store.Store, name string, version int64) {
	t.Helper()
	if _, err := s.SaveSchedule(context.WithoutCancel(t.Context()), store.Schedule{
		Namespace: "default", Name: name, Left: -1, NextAt: midnight, ScheduleSettings: store.ScheduleSettings{
			Times: "every 1h", Job: store.ScheduledJob{Kind: "send", Queue: "mail", Priority: 2, Args: []byte(`{"n":1}`)},
		},
	}, version, ""); err != nil {
		t.Error(err)
	}
}

// fired lets a schedule miss nominal times, which it has then decided.
func fired(t *testing.T, s store.Store, name string, after ...time.Duration) {
	t.Helper()
	found, err := s.Schedules(t.Context(), store.ScheduleFilter{Name: name, Limit: 1})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f := &store.Fire{Namespace: "default", Name: name, Version: found[0].Version, Left: -1}
	for _, d := range after {
		f.Cursor, f.NextAt = midnight.Add(d), midnight.Add(d+time.Hour)
		f.Runs = append(f.Runs, store.FireRun{Nominal: f.Cursor, State: store.RunMissed})
	}
	if err := s.Apply(t.Context(), &store.Batch{Fires: []*store.Fire{f}}); err != nil {
		t.Fatal(err)
	}
}

// schedulesOf returns all schedules with their runs.
func schedulesOf(t *testing.T, s store.Store) (found []store.Schedule, runs [][]store.ScheduleRun) {
	t.Helper()
	found, err := s.Schedules(t.Context(), store.ScheduleFilter{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, sc := range found {
		of, err := s.ScheduleRuns(t.Context(), store.ScheduleRunParams{Namespace: sc.Namespace, Name: sc.Name, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, of)
	}
	return found, runs
}

func wantSameSchedules(t *testing.T, source, target store.Store) {
	t.Helper()
	want, wantRuns := schedulesOf(t, source)
	got, runs := schedulesOf(t, target)
	if diff := cmp.Diff(want, got) + cmp.Diff(wantRuns, runs); diff != "" || len(got) == 0 {
		t.Errorf("%d schedules (-source +target):\n%s", len(got), diff)
	}
}

// firstVersion is that of the only schedule.
func firstVersion(t *testing.T, s store.Store) int64 {
	t.Helper()
	all, _ := schedulesOf(t, s)
	return all[0].Version
}

// TestSchedulesThatChangeMeanwhile: what a person or a node does to a schedule while it is copied
// is noticed, and so is what is done after the copy was complete.
func TestSchedulesThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]storetest.Factory{"SQLite": onSQLite, "PostgreSQL": onPostgres} {
		for what, change := range map[string]func(*testing.T, store.Store){
			"saved": func(t *testing.T, s store.Store) { save(t, s, "nightly", firstVersion(t, s)) },
			"fired": func(t *testing.T, s store.Store) { fired(t, s, "nightly", 0) },
			"made":  func(t *testing.T, s store.Store) { save(t, s, "daily", 0) },
		} {
			t.Run(what+" in "+name, func(t *testing.T) {
				t.Parallel()
				clock := storetest.NewClock()
				source, target := open(t, clock), onSQLite(t, clock)
				save(t, source, "nightly", 0)
				looks := 0
				watched := &watched{Store: source, Copies: facet(source), before: func(call string) {
					if call == "survey" {
						if looks++; looks == 2 {
							change(t, source)
						}
					}
				}}
				if _, err := copier.Copy(t.Context(), watched, target, quietly); !errors.Is(err, store.ErrConflict) {
					t.Errorf("the copy: %v", err)
				}
				if _, err := copier.Copy(t.Context(), source, target, quietly); err != nil {
					t.Errorf("the second copy: %v", err)
				}
				wantSameSchedules(t, source, target)
				fired(t, target, "nightly", time.Hour)
				if _, err := copier.Copy(t.Context(), source, target, quietly); !errors.Is(err, store.ErrConflict) {
					t.Errorf("a copy of what was completed before: %v", err)
				}
			})
		}
	}
}
