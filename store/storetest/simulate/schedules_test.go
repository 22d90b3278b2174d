package simulate_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
	"github.com/holdfastdev/holdfast/store/storetest/simulate"
)

func scheduled(s simulate.Simulation) simulate.Simulation {
	s.Scheduled = true
	return s
}

func TestSchedulesOnModel(t *testing.T) {
	hunt(t, scheduled(onModel), amount(100_000, 15_000), 500)
}

func TestSchedulesOnSQLite(t *testing.T) {
	hunt(t, scheduled(onSQLite), amount(10_000, 1_000), 1000)
}

func TestSchedulesOnTwo(t *testing.T) { hunt(t, scheduled(onTwo), amount(5_000, 500), 1000) }

// eachFire changes the fires of a batch.
func eachFire(change func(store.Store, *store.Fire)) changed {
	return onApply(func(s store.Store, b *store.Batch) {
		for _, f := range b.Fires {
			change(s, f)
		}
	}, nil)
}

// ignoresVersions carries out what was decided from any version.
func ignoresVersions(s store.Store, f *store.Fire) {
	found, err := s.Schedules(context.Background(), store.ScheduleFilter{Namespace: f.Namespace, Name: f.Name, Limit: 1})
	if err == nil && len(found) == 1 && f.Version != 0 {
		f.Version = found[0].Version
	}
}

// firesTwice carries it out even if its times have fired, which it notes a moment later.
func firesTwice(s store.Store, f *store.Fire) {
	ignoresVersions(s, f)
	runs, _ := s.ScheduleRuns(context.Background(), store.ScheduleRunParams{Namespace: f.Namespace, Name: f.Name, Limit: 1000})
	for i := range f.Runs {
		for _, r := range runs {
			if r.Nominal.Equal(f.Runs[i].Nominal) && r.Manual == f.Manual {
				f.Runs[i].Nominal = r.Nominal.Add(time.Microsecond)
			}
		}
	}
}

// staysBehind leaves the schedule where it was.
func staysBehind(ctx context.Context, s store.Store, b *store.Batch) error {
	one := *b
	one.Fires = nil
	return s.Apply(ctx, &one)
}

// movesAlone moves the schedule on, and enqueues nothing.
func movesAlone(ctx context.Context, s store.Store, b *store.Batch) error {
	err := s.Apply(ctx, b)
	inner, _ := s.(*model.Store)
	for _, f := range b.Fires {
		for _, r := range f.Runs {
			if r.Enqueue != nil && err == nil {
				_, _, _ = s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{r.Enqueue.Job.ID}, Terminate: true})
				inner.Forget(r.Enqueue.Job.ID)
			}
		}
	}
	return err
}

// TestBrokenSchedules is TestBroken for what concerns schedules.
func TestBrokenSchedules(t *testing.T) {
	for name, breaks := range map[string]func() changed{
		"a version that is not compared":         func() changed { return eachFire(ignoresVersions) },
		"a time that fires twice":                func() changed { return eachFire(firesTwice) },
		"jobs whose schedule does not move on":   func() changed { return changed{apply: staysBehind} },
		"a schedule that moves on without a job": func() changed { return changed{apply: movesAlone} },
		"times that are forgotten": func() changed {
			return eachFire(func(_ store.Store, f *store.Fire) { f.Runs = f.Runs[len(f.Runs)-1:] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			for first := uint64(1); first < 100; first += 20 {
				findsDrawn(t, 3_000, first, simulate.DrawScheduled, func(s store.Store) store.Store {
					broken := breaks()
					broken.Store = s
					return &broken
				})
			}
		})
	}
}
