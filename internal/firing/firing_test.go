package firing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/internal/cron"
	"github.com/holdfastdev/holdfast/store"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// made is a schedule that was made at noon.
func made(t *testing.T, times string, change func(*store.Schedule)) *store.Schedule {
	t.Helper()
	s := &store.Schedule{Namespace: "n", Name: "s", Left: -1, Version: 1}
	s.Times = times
	s.Job = store.ScheduledJob{Kind: "k", Queue: "q", Priority: 2}
	if change != nil {
		change(s)
	}
	if err := Begin(s, nil, noon); err != nil {
		t.Fatal(err)
	}
	return s
}

// carry carries out a decision, as a store does whose jobs never end.
func carry(s *store.Schedule, d Decision) {
	f := d.Unit.Fire
	held := s.Fired > 0
	for i := range f.Runs {
		q := f.Runs[i].Enqueue
		if q == nil {
			continue
		}
		q.Result.ID = q.Job.ID
		if held && s.Overlap == store.OverlapSkip {
			q.Result.ID = s.Last
		}
	}
	f.Settle(s, noon)
	s.Version++
}

// told lists what a decision says: "12:05 fired".
func told(d Decision) string {
	var all []string
	for _, r := range d.Unit.Fire.Runs {
		all = append(all, fmt.Sprintf("%s %s", r.Nominal.Format("15:04"), r.State))
	}
	return strings.Join(all, ", ")
}

func decide(t *testing.T, s *store.Schedule, at time.Time) Decision {
	t.Helper()
	d, err := Decide(s, at)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const everyHour = "cron 0 * * * * zone=UTC"

// TestDecide is what each policy makes of three hours, the last of which is on time, or not.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*store.Schedule)
		at     time.Duration // after noon
		want   string
	}{
		{"nothing is due", nil, 59 * time.Minute, ""},
		{"on time", nil, time.Hour, "13:00 fired"},
		{"within the grace", nil, time.Hour + Grace, "13:00 fired"},
		{"late", nil, time.Hour + Grace + time.Second, "13:00 fired"},
		{"coalesced", nil, 3*time.Hour + 2*time.Minute, "13:00 missed, 14:00 missed, 15:00 fired"},
		{"coalesced into one that is on time", nil, 3 * time.Hour, "13:00 missed, 14:00 missed, 15:00 fired"},
		{"skipped", missed(store.MissedSkip, 0), 3*time.Hour + 2*time.Minute, "13:00 missed, 14:00 missed, 15:00 missed"},
		{"skipped before one that is on time", missed(store.MissedSkip, 0), 3 * time.Hour, "13:00 missed, 14:00 missed, 15:00 fired"},
		{"caught up", missed(store.MissedCatchUp, 90*time.Minute), 3*time.Hour + 2*time.Minute, "13:00 missed, 14:00 fired, 15:00 skipped"},
		{
			"caught up, one beside the other", both(missed(store.MissedCatchUp, 24*time.Hour), overlap(store.OverlapAllow)),
			3 * time.Hour, "13:00 fired, 14:00 fired, 15:00 fired",
		},
		{
			"replaced", both(missed(store.MissedCatchUp, 24*time.Hour), overlap(store.OverlapCancel)), 3 * time.Hour,
			"13:00 skipped, 14:00 skipped, 15:00 fired",
		},
		{"begins later", func(s *store.Schedule) { s.Start = noon.Add(2 * time.Hour) }, 2 * time.Hour, "14:00 fired"},
		{"has ended", func(s *store.Schedule) { s.End = noon.Add(2 * time.Hour) }, 5 * time.Hour, "13:00 fired"},
		{"may fire once more", both(missed(store.MissedCatchUp, 24*time.Hour), left(1)), 3 * time.Hour, "13:00 fired"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := told(decide(t, made(t, everyHour, c.change), noon.Add(c.at))); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func missed(m store.Missed, window time.Duration) func(*store.Schedule) {
	return func(s *store.Schedule) { s.Missed, s.Window = m, window }
}

func overlap(o store.Overlap) func(*store.Schedule) {
	return func(s *store.Schedule) { s.Overlap = o }
}

func left(n int64) func(*store.Schedule) { return func(s *store.Schedule) { s.Left = n } }

func both(a, b func(*store.Schedule)) func(*store.Schedule) {
	return func(s *store.Schedule) { a(s); b(s) }
}

// TestItEnds: a schedule that may fire no more, or whose end has come, is not looked at again.
func TestItEnds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*store.Schedule){
		"left": left(1), "end": func(s *store.Schedule) { s.End = noon.Add(2 * time.Hour) },
	} {
		s := made(t, everyHour, change)
		d := decide(t, s, s.NextAt)
		carry(s, d)
		if told(d) != "13:00 fired" || !s.NextAt.IsZero() {
			t.Errorf("%s: %s, and it is looked at again at %v", name, told(d), s.NextAt)
		}
	}
}

// TestReplace: the job before is stopped in the pass after the one that has replaced it, and in
// each one until that is written.
func TestReplace(t *testing.T) {
	t.Parallel()
	for _, o := range []store.Overlap{store.OverlapCancel, store.OverlapTerminate} {
		s := made(t, everyHour, overlap(o))
		carry(s, decide(t, s, s.NextAt))
		first := s.Last
		if s.Cancels != (store.ID{}) || !s.NextAt.Equal(noon.Add(2*time.Hour)) {
			t.Fatalf("%s: the first one replaces %v, next at %v", o, s.Cancels, s.NextAt)
		}
		carry(s, decide(t, s, s.NextAt))
		if s.Cancels != first || !s.NextAt.Equal(noon.Add(2*time.Hour)) {
			t.Fatalf("%s: the second one replaces %v, want %v, next at %v", o, s.Cancels, first, s.NextAt)
		}
		for range 2 { // the first time it dies before it is written
			d := decide(t, s, s.NextAt.Add(time.Second))
			if d.Stop != first || d.Terminate != (o == store.OverlapTerminate) || told(d) != "" || d.IsEmpty(s) {
				t.Errorf("%s: %+v", o, d)
			}
		}
		carry(s, decide(t, s, s.NextAt.Add(time.Second)))
		if s.Cancels != (store.ID{}) || !s.NextAt.Equal(noon.Add(3*time.Hour)) {
			t.Errorf("%s: afterwards it replaces %v, next at %v", o, s.Cancels, s.NextAt)
		}
	}
}

// TestOnlyAsks: a schedule that is paused or over has the job asked to stop that it has replaced,
// and decides about no time.
func TestOnlyAsks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*store.Schedule)
		next   time.Time
	}{
		"paused": {func(s *store.Schedule) { s.PausedAt = noon }, noon.Add(time.Hour)},
		"over":   {left(0), time.Time{}},
		"ended":  {func(s *store.Schedule) { s.End = noon.Add(time.Minute) }, time.Time{}},
	} {
		s := made(t, everyHour, both(overlap(store.OverlapCancel), c.change))
		s.Cancels, s.NextAt = store.ID{1}, noon.Add(time.Minute)
		d := decide(t, s, noon.Add(5*time.Hour))
		if d.Stop != s.Cancels || told(d) != "" || d.IsEmpty(s) {
			t.Errorf("%s: %+v", name, d)
		}
		cursor := s.Cursor
		carry(s, d)
		if s.Cancels != (store.ID{}) || !s.NextAt.Equal(c.next) || !s.Cursor.Equal(cursor) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestTheJob: the policies are properties of the job, and it knows what it is for.
func TestTheJob(t *testing.T) {
	t.Parallel()
	for o := store.OverlapSkip; o <= store.OverlapTerminate; o++ {
		s := made(t, everyHour, overlap(o))
		job := decide(t, s, s.NextAt).Unit.Enqueues[0].Job
		unique, inLine := o == store.OverlapSkip || o == store.OverlapBufferOne, o >= store.OverlapBufferOne
		if (job.UniqueKey != nil) != unique || (job.OrderingKey != "") != inLine {
			t.Errorf("%s: unique key %x, ordering key %q", o, job.UniqueKey, job.OrderingKey)
		}
		if job.Options.Source != "s" || !job.Options.Nominal.Equal(noon.Add(time.Hour)) || job.Namespace != "n" {
			t.Errorf("%s: %+v", o, job)
		}
		if err := job.Check(); err != nil {
			t.Error(err)
		}
	}
}

// TestMillionsAreMissed: what nobody makes up for costs no more than what is listed.
func TestMillionsAreMissed(t *testing.T) {
	t.Parallel()
	s := made(t, "every 1s zone=UTC", missed(store.MissedSkip, 0))
	d := decide(t, s, noon.AddDate(1, 0, 0))
	runs := d.Unit.Fire.Runs
	lost := slices.DeleteFunc(slices.Clone(runs), func(r store.FireRun) bool { return r.State != store.RunMissed })
	if len(lost) != Listed || d.Missed != Listed || len(d.Unit.Enqueues) != 1 || len(runs)-len(lost) != int(Grace/time.Second)+1 {
		t.Errorf("%d runs, %d missed, %d jobs", len(runs), len(lost), len(d.Unit.Enqueues))
	}
}

// TestAnUnknownRule: what a newer version has written is left alone.
func TestAnUnknownRule(t *testing.T) {
	t.Parallel()
	s := made(t, everyHour, nil)
	s.Times = "moon full zone=UTC"
	if _, err := Decide(s, s.NextAt); err == nil {
		t.Error("a rule that is unknown is decided about")
	}
	cursor := s.Cursor
	carry(s, Postpone(s, noon.Add(90*time.Minute)))
	if !s.Cursor.Equal(cursor) || !s.NextAt.Equal(noon.Add(90*time.Minute)) || s.Left != -1 {
		t.Errorf("%+v", s)
	}
}

// TestChecks are schedules that are refused.
func TestChecks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		times  string
		change func(*store.Schedule)
		want   string
	}{
		{everyHour, func(s *store.Schedule) { s.Start, s.End = noon, noon }, "its end"},
		{everyHour, func(s *store.Schedule) { s.Jitter = time.Hour }, "jitter"},
		{"cron 0,1 * * * * zone=UTC", func(s *store.Schedule) { s.Jitter = 2 * time.Minute }, "jitter"},
		{everyHour, missed(store.MissedCatchUp, 0), "window"},
		{everyHour, missed(store.MissedSkip, time.Hour), "window"},
		{everyHour, both(overlap(store.OverlapBufferAll), func(s *store.Schedule) { s.Job.OrderingKey = "k" }), "ordering key"},
		{everyHour, func(s *store.Schedule) { s.Jitter = 59 * time.Minute }, ""},
		{"at 2026-03-03T00:00:00Z zone=UTC", func(s *store.Schedule) { s.Jitter = 99 * time.Hour }, ""},
		{"nonsense", nil, "text"},
	} {
		s := &store.Schedule{Name: "s"}
		s.Times = c.times
		if c.change != nil {
			c.change(s)
		}
		err := Check(s, noon)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.times, err, c.want)
		}
	}
}

// TestBegin: what is new fires nothing that has passed; a changed job misses no time; a changed
// rule begins anew; a clock that was ahead is forgotten.
func TestBegin(t *testing.T) {
	t.Parallel()
	s := made(t, "cron 0 12 * * * zone=UTC", nil)
	if !s.NextAt.Equal(noon.AddDate(0, 0, 1)) {
		t.Errorf("first at %v", s.NextAt)
	}
	later := noon.AddDate(0, 0, 3)
	changed := *s
	changed.Job.Priority = 1
	if err := Begin(&changed, s, later); err != nil || !changed.NextAt.Equal(s.NextAt) {
		t.Errorf("another job: %v, %v", changed.NextAt, err)
	}
	changed.Times = everyHour
	if err := Begin(&changed, s, later); err != nil || !changed.NextAt.Equal(later.Add(time.Hour)) {
		t.Errorf("another rule: %v, %v", changed.NextAt, err)
	}
	before := changed
	if err := Begin(&changed, &before, noon); err != nil || !changed.NextAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("an earlier clock: %v, %v", changed.NextAt, err)
	}
}

// TestBeginWithMoreTimes: an end, a start or a count that gives a schedule more times gives it none
// that have passed. What was due without that still is.
func TestBeginWithMoreTimes(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	ends := func(at time.Time) func(*store.Schedule) { return func(s *store.Schedule) { s.End = at } }
	starts := func(at time.Time) func(*store.Schedule) { return func(s *store.Schedule) { s.Start = at } }
	for name, c := range map[string]struct {
		was, is func(*store.Schedule)
		cursor  int // up to when it was decided
		next    int
	}{
		"a later end of one that is over":     {ends(at(2)), ends(at(1000)), 1, 101},
		"no end of one that is over":          {ends(at(2)), ends(time.Time{}), 1, 101},
		"a later end of one that is due":      {ends(at(2)), ends(at(1000)), 0, 101},
		"a later end before that has come":    {ends(at(500)), ends(at(1000)), 1, 2},
		"an earlier end":                      {ends(at(1000)), ends(at(500)), 1, 2},
		"the same end, and it is due":         {ends(at(2)), ends(at(2)), 0, 1},
		"more fires of one that has had all":  {left(0), left(50), 1, 101},
		"more fires of one that is due":       {left(1), left(50), 1, 2},
		"an earlier start":                    {starts(at(200)), starts(at(50)), 0, 101},
		"an earlier start of one that begins": {starts(at(50)), starts(at(20)), 0, 101},
		"an earlier start of one that runs":   {starts(at(1)), starts(at(-50)), 2, 3},
		"a later start":                       {nil, starts(at(200)), 2, 200},
	} {
		s := made(t, everyHour, c.was)
		s.Cursor = at(c.cursor)
		before := *s
		c.is(s)
		if err := Begin(s, &before, at(100)); err != nil || !s.NextAt.Equal(at(c.next)) {
			t.Errorf("%s: next at %v, want %v; %v", name, s.NextAt, at(c.next), err)
		}
	}
}

// TestEveryTimeOnce draws schedules and the moments at which they are looked at, some of them with
// what was read before, and clocks that go back. Each nominal time is decided once, none is left
// out, and each as the policies say.
func TestEveryTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SampledFrom([]string{
			"every 7s zone=UTC", "every 40s zone=UTC", "cron */5 * * * * zone=UTC", "cron 30 1 * * * zone=Europe/Berlin",
		}).Draw(t, "times")
		s := &store.Schedule{Namespace: "n", Name: "s", Left: -1, Version: 1}
		s.Times = times
		s.Job = store.ScheduledJob{Kind: "k", Queue: "q", Priority: 2}
		s.Overlap = store.Overlap(rapid.IntRange(0, 5).Draw(t, "overlap"))
		s.Missed = store.Missed(rapid.IntRange(0, 2).Draw(t, "missed"))
		if s.Missed == store.MissedCatchUp {
			s.Window = time.Duration(rapid.IntRange(1, 7200).Draw(t, "window")) * time.Second
		}
		s.Jitter = time.Duration(rapid.IntRange(0, 6).Draw(t, "jitter")) * time.Second
		if err := errors.Join(Check(s, noon), Begin(s, nil, noon)); err != nil {
			t.Fatal(err)
		}
		spec, err := cron.Parse(times)
		if err != nil {
			t.Fatal(err)
		}
		now := noon
		for range rapid.IntRange(1, 30).Draw(t, "passes") {
			now = now.Add(time.Duration(rapid.IntRange(-100, 700).Draw(t, "seconds")) * time.Second)
			if s.NextAt.After(now) {
				continue // it is not due
			}
			before := *s
			d, err := Decide(s, now)
			if err != nil {
				t.Fatal(err)
			}
			carry(s, d)
			checkPass(t, spec, &before, s, d, now)
		}
	})
}

// checkPass compares a decision with all nominal times between the cursor before and after it.
func checkPass(t *rapid.T, spec cron.Spec, before, s *store.Schedule, d Decision, now time.Time) {
	runs := d.Unit.Fire.Runs
	var want []time.Time
	for at, ok := spec.Next(before.Cursor); ok && !at.After(s.Cursor); at, ok = spec.Next(at) {
		want = append(want, at)
	}
	if cut := len(want) - len(runs); cut > 0 && d.Missed >= Listed-1 {
		want = want[cut:]
	}
	onTime, fired := 0, 0
	for i, r := range runs {
		if i >= len(want) || !r.Nominal.Equal(want[i]) {
			t.Fatalf("run %d is for %v, want %v", i, r.Nominal, want)
		}
		late := now.Sub(r.Nominal) > Grace+s.Jitter
		if !late {
			onTime++
		}
		switch {
		case r.State == store.RunMissed && !late:
			t.Fatalf("%v is missed at %v", r.Nominal, now)
		case r.State == store.RunMissed && s.Missed == store.MissedCatchUp && now.Sub(r.Nominal) <= s.Window:
			t.Fatalf("%v is missed at %v, within the window of %v", r.Nominal, now, s.Window)
		case r.State == store.RunFired && late && s.Missed == store.MissedSkip:
			t.Fatalf("%v fires at %v", r.Nominal, now)
		}
		if r.State != store.RunMissed {
			fired++
		}
		if due(s, r.Nominal).After(now) {
			t.Fatalf("%v fires at %v, before its jitter is over", r.Nominal, now)
		}
	}
	if len(runs) != len(want) || s.Missed == store.MissedCoalesce && fired != max(onTime, min(len(want), 1)) {
		t.Fatalf("%d runs of %d times, %d of them on time, %d act", len(runs), len(want), onTime, fired)
	}
	next, _ := spec.Next(s.Cursor)
	if at := due(s, next); !s.NextAt.Equal(at) && s.Cancels == (store.ID{}) {
		t.Fatalf("it is looked at next at %v, want %v", s.NextAt, at)
	}
	if !s.NextAt.After(now) && len(runs) < Most && s.Cancels == (store.ID{}) {
		t.Fatalf("at %v it is left due at %v", now, s.NextAt)
	}
}

// TestTaken: times that a clock has made that was ahead, before a person set the schedule back, are
// passed over: they do not fire twice, and stand in the way of no other.
func TestTaken(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	for name, c := range map[string]struct {
		now   time.Time
		taken []time.Time
		want  string
		next  time.Time
	}{
		"on time":            {at(1), []time.Time{at(1)}, "", at(2)},
		"the last one":       {at(3), []time.Time{at(3)}, "13:00 missed, 14:00 fired", at(4)},
		"one that is missed": {at(3), []time.Time{at(1)}, "14:00 missed, 15:00 fired", at(4)},
		"all":                {at(3), []time.Time{at(1), at(2), at(3)}, "", at(4)},
	} {
		s := made(t, everyHour, nil)
		d, err := Decide(s, c.now, c.taken...)
		if err != nil || told(d) != c.want || d.IsEmpty(s) || !d.Unit.Fire.NextAt.Equal(c.next) {
			t.Errorf("%s: %s, want %s; next at %v, %v", name, told(d), c.want, d.Unit.Fire.NextAt, err)
		}
	}
}
