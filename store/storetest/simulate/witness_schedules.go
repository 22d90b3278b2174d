package simulate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// scheduled is what must be so of a schedule.
type scheduled struct {
	store.Schedule

	since time.Time // up to here nothing fires
	runs  map[occurrence]store.ScheduleRun
}

// occurrence is a nominal time at which the clock has fired, or, with a number, a person.
type occurrence struct{ nominal, manual int64 }

// SaveSchedule implements store.Schedules.
func (w *witness) SaveSchedule(ctx context.Context, s store.Schedule, expect int64, actor string) (store.Schedule, error) {
	w.begin("SaveSchedule")
	saved, err := w.Store.SaveSchedule(ctx, s, expect, actor)
	known := w.schedules[s.Name]
	switch {
	case known == nil && expect != 0:
		refused("a change of a schedule that is not there", err, store.ErrNotFound)
	case known != nil && known.Version != expect:
		refused("a change of a schedule that is another one", err, store.ErrConflict)
	case err != nil:
		play.Brokenf("Contract", "schedule %s, of the version that is expected, cannot be saved: %v", s.Name, err)
	case known == nil:
		w.schedules[s.Name] = &scheduled{saved, saved.Cursor, map[occurrence]store.ScheduleRun{}}
	default:
		known.Schedule = saved
	}
	version := expect + 1
	if expect == 0 {
		version = store.FirstVersion(saved.CreatedAt)
	}
	if err == nil && saved.Version != version {
		play.Brokenf("OneFire", "schedule %s had the version %d, and was saved as %d", s.Name, expect, saved.Version)
	}
	return saved, err
}

// DueSchedules implements store.Schedules.
func (w *witness) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Time, error) {
	w.begin("DueSchedules")
	due, next, err := w.Store.DueSchedules(ctx, limit)
	must("DueSchedules", err)
	var looked []*scheduled
	for _, s := range w.schedules {
		if (s.PausedAt.IsZero() || s.Cancels != store.ID{}) && !s.NextAt.IsZero() {
			looked = append(looked, s)
		}
	}
	slices.SortFunc(looked, func(a, b *scheduled) int { return cmp.Or(a.NextAt.Compare(b.NextAt), cmp.Compare(a.Name, b.Name)) })
	n, told := 0, map[string]bool{}
	for n < min(limit, len(looked)) && !looked[n].NextAt.After(w.now) {
		s := looked[n]
		if n >= len(due) || !due[n].NextAt.Equal(s.NextAt) {
			play.Brokenf("EveryDueThing", "schedule %s, version %d, is due at %v, and not told: %+v", s.Name, s.Version, s.NextAt, due)
		}
		if is := w.schedules[due[n].Name]; is == nil || told[is.Name] || is.Version != due[n].Version { // of the same time, any order will do
			play.Brokenf("EveryDueThing", "schedule %s, version %d, is told to be due, or twice: %+v", due[n].Name, due[n].Version, due)
		}
		told[due[n].Name] = true
		n++
	}
	if len(due) != n || n < len(looked) && !next.Equal(looked[n].NextAt) || n == len(looked) && !next.IsZero() {
		play.Brokenf("EveryDueThing", "%d of %d schedules are told to be due, the next one at %v", len(due), n, next)
	}
	return due, next, nil
}

// sawFires checks what became of a batch with fires, which has nothing else but their jobs.
func (w *witness) sawFires(batch *store.Batch, err error) {
	for _, f := range batch.Fires {
		s := w.schedules[f.Name]
		wrong := w.judge(s, f)
		switch {
		case err == nil && wrong != nil:
			play.Brokenf("OneFire", "a fire of %s from version %d, number %d, is carried out, though: %v", f.Name, f.Version, f.Manual, wrong)
		case err == nil:
			w.fired(s, f)
		case wrong == nil:
			play.Brokenf("OneFire", "a fire of %s from version %d, number %d, is refused: %v, %v", f.Name, f.Version, f.Manual, err, f.Err)
		default:
			refused("a fire", f.Err, wrong)
		}
	}
	if err == nil {
		for _, q := range batch.Enqueues {
			w.sawEnqueue(q)
		}
	}
}

// judge tells the class of the error with which a fire must be refused, or nil.
func (w *witness) judge(s *scheduled, f *store.Fire) error {
	if s == nil {
		return store.ErrNotFound
	}
	if f.Version != 0 && f.Version != s.Version {
		return store.ErrConflict
	}
	for _, r := range f.Runs {
		if _, has := s.runs[occurrence{r.Nominal.UnixMicro(), f.Manual}]; has {
			return store.ErrConflict
		}
	}
	return nil
}

// fired notes a fire that was carried out.
func (w *witness) fired(s *scheduled, f *store.Fire) {
	for _, r := range f.Runs {
		run := store.ScheduleRun{Nominal: r.Nominal, Manual: f.Manual, State: r.State, At: w.now}
		if q := r.Enqueue; q != nil {
			if run.Job = q.Result.ID; run.Job != q.Job.ID {
				run.State = store.RunSkipped
			}
		}
		if run.State == store.RunFired {
			if s.Fired++; !f.Backfill {
				s.Last = run.Job
			}
		}
		s.runs[occurrence{r.Nominal.UnixMicro(), f.Manual}] = run
	}
	s.Version++
	switch {
	case f.Manual == 0:
		s.Cursor, s.NextAt, s.Left, s.Cancels = f.Cursor, f.NextAt, f.Left, f.Cancels
	case f.Cancels != store.ID{}:
		s.NextAt, s.Cancels = w.now, f.Cancels
	}
	w.checkTimes(s)
}

// checkTimes: each nominal time up to the cursor has one run of the clock, and none behind it has
// one.
func (w *witness) checkTimes(s *scheduled) {
	n := 0
	for at := s.since.Add(period); !at.After(s.Cursor); at = at.Add(period) {
		if _, has := s.runs[occurrence{at.UnixMicro(), 0}]; !has {
			play.Brokenf("OneFire", "schedule %s has fired up to %v, and nothing is known of %v", s.Name, s.Cursor, at)
		}
		n++
	}
	for o := range s.runs {
		if o.manual == 0 {
			n--
		}
	}
	if n != 0 {
		play.Brokenf("OneFire", "schedule %s has fired up to %v, and %d times behind that", s.Name, s.Cursor, -n)
	}
}

// surveySchedules reads all schedules and runs. Of old runs as many as are to be kept are there.
func (w *witness) surveySchedules(ctx context.Context) {
	listed, err := w.Schedules(ctx, store.ScheduleFilter{Namespace: namespace, Limit: 100})
	must("Schedules", err)
	if len(listed) != len(w.schedules) {
		play.Brokenf("NoLoss", "%d of %d schedules are listed", len(listed), len(w.schedules))
	}
	for _, s := range listed {
		known := w.schedules[s.Name]
		if known == nil || s.Version != known.Version || s.Fired != known.Fired || s.Last != known.Last || s.Left != known.Left ||
			s.Cancels != known.Cancels || !s.Cursor.Equal(known.Cursor) || !s.NextAt.Equal(known.NextAt) || !s.PausedAt.Equal(known.PausedAt) {
			play.Brokenf("OneFire", "schedule %s is %+v, and should be %+v", s.Name, s, known)
		}
		runs, err := w.ScheduleRuns(ctx, store.ScheduleRunParams{Namespace: namespace, Name: s.Name, Limit: 100_000})
		must("ScheduleRuns", err)
		if len(runs) < min(len(known.runs), store.RunsKept) || len(runs) > len(known.runs) {
			play.Brokenf("OneFire", "schedule %s has %d runs, and should have %d", s.Name, len(runs), len(known.runs))
		}
		for i, r := range runs {
			o := occurrence{r.Nominal.UnixMicro(), r.Manual}
			want := known.runs[o]
			if r.State != want.State || r.Job != want.Job || !r.At.Equal(want.At) {
				play.Brokenf("OneFire", "schedule %s has the run %+v, and should have %+v", s.Name, r, want)
			}
			if i > 0 && o == (occurrence{runs[i-1].Nominal.UnixMicro(), runs[i-1].Manual}) {
				play.Brokenf("OneFire", "schedule %s has two runs for %v", s.Name, r.Nominal)
			}
		}
	}
}

// applyFires is Apply of a batch with fires.
func (w *witness) applyFires(ctx context.Context, batch *store.Batch) error {
	err := w.Store.Apply(ctx, batch)
	if err != nil && !errors.Is(err, store.ErrRefused) {
		must("Apply", err)
	}
	w.sawFires(batch, err)
	w.look(ctx)
	return err
}
