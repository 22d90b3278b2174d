//go:build soak

package faulttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// mute is the same, and no node runs it.
var mute = holdfast.NewKind[int, int]("mute bell")

// mostProblems are told of one schedule.
const mostProblems = 10

// tooLong is how long a bell takes whose next one comes meanwhile.
const tooLong = 1700

// bells are schedules that fire each second, some of whose jobs take longer, as those who test see
// them.
type bells struct {
	t  *testing.T
	hf *holdfast.Client
	// from is the cursor with which each began, by name.
	from   map[string]time.Time
	probes int
}

var overlaps = []store.Overlap{
	schedule.Skip, schedule.Allow, schedule.BufferOne, schedule.BufferAll, schedule.CancelOther, schedule.TerminateOther,
}

// missing are schedules by what becomes of the times that they missed.
var missing = map[string]schedule.Option{
	"misses and goes on": schedule.SkipMissed(), "misses and makes up for one": schedule.Coalesce(),
	"makes up for all": schedule.CatchUp(time.Hour),
}

func newBells(t *testing.T, hf *holdfast.Client) *bells {
	return &bells{t: t, hf: hf, from: map[string]time.Time{}}
}

// hang adds one.
func (b *bells) hang(name string, job holdfast.BatchItem, opts ...schedule.Option) {
	b.t.Helper()
	s, err := schedule.Create(b.t.Context(), b.hf, schedule.New(name, schedule.Every(time.Second), job, opts...))
	if err != nil {
		b.t.Fatal(err)
	}
	b.from[name] = s.Cursor
}

// hangAll adds some of each overlap policy, with jobs that end in time and such that do not.
func (b *bells) hangAll() {
	b.t.Helper()
	for _, policy := range overlaps {
		for _, millis := range []int{1, tooLong} {
			b.hang(fmt.Sprintf("%s, %d ms", policy, millis), bell.Item(millis), schedule.Overlap(policy))
		}
	}
}

// now is what the clock of the database shows.
func (b *bells) now() time.Time {
	b.t.Helper()
	b.probes++
	never := schedule.At(time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC))
	var s store.Schedule
	eventually(b.t, "the database takes a write", func() (made bool) {
		var err error
		s, err = schedule.Create(b.t.Context(), b.hf, schedule.New(fmt.Sprint("probe ", b.probes), never, mute.Item(1)))
		return err == nil
	})
	return s.CreatedAt
}

func (b *bells) get(name string) store.Schedule {
	b.t.Helper()
	s, err := schedule.Get(b.t.Context(), b.hf, name)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// decided reports whether the times of some bells have been decided about that were before a time.
func (b *bells) decided(until time.Time, names ...string) bool {
	b.t.Helper()
	until = until.Truncate(time.Second)
	return !slices.ContainsFunc(names, func(name string) bool { return b.get(name).Cursor.Before(until) })
}

// ring waits until all bells of the seconds up to now have been decided about.
func (b *bells) ring() {
	b.t.Helper()
	now := b.now()
	for name := range b.from {
		eventually(b.t, name+" comes up to "+now.String(), func() bool { return b.decided(now, name) })
	}
}

// late is the longest time that a bell of some names was late.
func (b *bells) late(names ...string) (most time.Duration) {
	b.t.Helper()
	for _, name := range names {
		for _, run := range b.runs(name) {
			most = max(most, run.At.Sub(run.Nominal))
		}
	}
	return most
}

func (b *bells) runs(name string) []store.ScheduleRun {
	b.t.Helper()
	const many = 1000
	runs, err := schedule.Runs(b.t.Context(), b.hf, name, store.ScheduleRun{}, many)
	if err != nil {
		b.t.Fatal(err)
	}
	return runs
}

// jobs are the jobs of all bells, by the schedule and the nominal time.
func (b *bells) jobs() map[string]map[time.Time][]holdfast.ID {
	b.t.Helper()
	all := map[string]map[time.Time][]holdfast.ID{}
	for after := ""; ; {
		page, err := b.hf.List(b.t.Context(), store.Filter{}, after, 1000)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, r := range page.Jobs {
			of := r.Options.Source
			if all[of] == nil {
				all[of] = map[time.Time][]holdfast.ID{}
			}
			at := r.Options.Nominal.UTC()
			all[of][at] = append(all[of][at], r.ID)
		}
		if after = page.Next; after == "" {
			return all
		}
	}
}

// verify stops the bells, and looks at each of their seconds.
func (b *bells) verify() {
	b.t.Helper()
	b.ring()
	for name := range b.from {
		if _, err := schedule.Pause(b.t.Context(), b.hf, name, "the end"); err != nil {
			b.t.Fatal(err)
		}
	}
	jobs := b.jobs()
	seconds, states := 0, map[store.RunState]int{}
	for name, from := range b.from {
		for _, problem := range b.problems(name, from, jobs[name], states) {
			b.t.Errorf("%s: %s", name, problem)
		}
		seconds += len(b.runs(name))
	}
	b.t.Logf("%d seconds of %d schedules: %d fired, %d skipped, %d missed", seconds, len(b.from),
		states[store.RunFired], states[store.RunSkipped], states[store.RunMissed])
}

// replaced waits until each job of a bell that has stopped has made room for the next one.
func (b *bells) replaced(name string) {
	b.t.Helper()
	last := b.get(name).Last
	for at, ids := range b.jobs()[name] {
		for _, id := range ids {
			if id != last && !comesTrue(patience, func() bool { return get(b.t, b.hf, id).State.Finished() }) {
				b.t.Errorf("%s: the job of %s was not asked to stop: %s", name, at, told(get(b.t, b.hf, id)))
			}
		}
	}
}

// problems tells what is wrong with one that has stopped. It counts the states of its runs.
func (b *bells) problems(name string, from time.Time, jobs map[time.Time][]holdfast.ID, states map[store.RunState]int) (all []string) {
	b.t.Helper()
	tell := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	s := b.get(name)
	fired, runs := int64(0), map[time.Time]store.ScheduleRun{}
	for _, run := range b.runs(name) {
		at := run.Nominal.UTC()
		if _, twice := runs[at]; twice {
			tell("%s has two runs", at)
		}
		runs[at] = run
		states[run.State]++
		if run.State == store.RunFired {
			fired++
			if of := jobs[at]; len(of) != 1 || of[0] != run.Job {
				tell("%s was fired with job %s, and its jobs are %v", at, run.Job, of)
			}
		}
		if err := allowed(&s, run); err != nil {
			tell("%s: %v", at, err)
		}
	}
	for at, ids := range jobs {
		if runs[at].State != store.RunFired {
			tell("%s has jobs %v and %s", at, ids, words(runs[at]))
		}
	}
	expected := 0
	for at := from.Truncate(time.Second).Add(time.Second); !at.After(s.Cursor); at = at.Add(time.Second) {
		expected++
		if _, ok := runs[at.UTC()]; !ok {
			tell("%s has no run", at)
		}
	}
	if len(runs) != expected || s.Fired != fired {
		tell("%d runs of %d seconds; %d fired, and the schedule says %d", len(runs), expected, fired, s.Fired)
	}
	if len(all) > mostProblems {
		all = append(all[:mostProblems], fmt.Sprintf("and %d more", len(all)-mostProblems))
	}
	return all
}

// allowed reports why a run is none that the overlaps of its schedule lead to.
func allowed(s *store.Schedule, run store.ScheduleRun) error {
	late := run.At.Sub(run.Nominal)
	switch {
	case run.State == store.RunSkipped && (s.Overlap == schedule.Allow || s.Overlap == schedule.BufferAll):
		return errors.New("it was skipped although all fire")
	case run.State == store.RunMissed && s.Missed == store.MissedCatchUp:
		return errors.New("it was missed although all are made up for")
	case run.State == store.RunMissed && late <= time.Minute:
		return fmt.Errorf("it was missed, and %v late", late)
	case run.State == store.RunFired && s.Missed == store.MissedSkip && late > time.Minute+patience:
		return fmt.Errorf("it was fired, and %v late", late)
	case run.Manual != 0:
		return fmt.Errorf("nobody has triggered it, and its number is %d", run.Manual)
	}
	return nil
}
