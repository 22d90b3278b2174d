package limits

import (
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var rateTests = env.Tests{
	"all_of_a_rate_is_kept":                                           rateKept,
	"LimitsHold_permits_come_by_the_rate":                             rateComes,
	"LimitsHold_calls_that_come_late_or_twice_make_no_permits":        rateLate,
	"LimitsHold_only_the_last_permits_go_back_and_once":               rateBack,
	"LimitsHold_no_permit_comes_before_the_end_of_a_drain":            rateDrain,
	"LimitsHold_a_drain_outlives_another_rate":                        rateDrainKept,
	"LimitsHold_a_drain_lasts_as_long_as_it_says":                     rateDrainFar,
	"LimitsHold_a_clock_that_is_set_back_changes_no_rate":             rateClock,
	"LimitsHold_another_rate_goes_on_from_what_was_taken":             rateChanged,
	"LimitsHold_a_permit_is_taken_where_it_is_remembered":             rateReserved,
	"a_permit_from_before_a_drain_is_replaced":                        rateReservedAgain,
	"LimitsHold_permits_come_from_now_on_when_a_drain_is_taken_back":  rateResumed,
	"LimitsHold_a_drain_that_is_taken_back_at_once_gives_no_permits":  rateResumedAtOnce,
	"LimitsHold_permits_booked_before_a_drain_is_taken_back_are_void": rateResumedVoid,
	"a_permit_that_was_missed_is_replaced":                            rateMissed,
	"what_has_no_rate_gives_no_permits":                               rateMissing,
	"a_rate_that_cannot_be_kept_is_refused":                           rateInvalid,
	"a_limit_without_a_capacity_bounds_no_slots":                      rateUncapped,
	"a_dead_node_keeps_no_permits_from_others":                        rateDead,
	"LimitsHold_permits_are_those_of_the_rules":                       rateRules,
	"one_call_asks_for_permits_of_many_limits":                        rateMany,
	"permits_may_be_left_where_no_job_waits_and_come_if_one_does":     rateIfWaiting,
}

// rated is a limit with a rate alone.
func rated(name string, count int, per time.Duration, burst int) store.Limit {
	return env.Limit(name, 0, func(l *store.Limit) { l.Uncapped, l.Rate = true, &store.Rate{Count: count, Per: per, Burst: burst} })
}

func permitsOf(l store.Limit, want int) store.PermitAsk {
	return store.PermitAsk{Limit: l.ID, Version: l.Version, Want: want, Ahead: store.PermitAhead}
}

// permits takes permits of one limit.
func permits(e *env.Env, ask store.PermitAsk) store.Permits {
	e.Helper()
	got, err := e.Store.TakePermits(e.Ctx, []store.PermitAsk{ask})
	e.NoError("TakePermits", err)
	if len(got) != 1 || got[0].Limit != ask.Limit {
		e.Fatalf("an ask about limit %d is answered %+v", ask.Limit, got)
	}
	return got[0]
}

// froms are the times of permits, from the moment of the call on.
func froms(p store.Permits) (all []time.Duration) {
	for k := range p.Count {
		all = append(all, p.From(k))
	}
	return all
}

const ms = time.Millisecond

func rateKept(e *env.Env) {
	l := env.Limit("partner", 20, func(l *store.Limit) {
		l.Queues, l.Rate, l.Declared = []string{"mail"}, &store.Rate{Count: 50, Per: time.Second, Burst: 10}, "what code has said"
	})
	saved := e.SaveLimit(l)
	e.Equal("settings", saved.LimitSettings, l.LimitSettings)
	e.Equal("read", e.LimitOf("partner"), saved)
	at := e.Clock.Now()
	permits(e, permitsOf(saved, 11))
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", at.Add(time.Minute), ""))
	now := e.LimitOf("partner")
	e.Equal("the end of the drain", now.DrainedUntil, at.Add(time.Minute))
	e.Equal("the next permit", now.NextAt, at.Add(time.Minute))
	none := e.SaveLimit(env.Limit("none", 3))
	e.Equal("the next permit of one without", none.NextAt, time.Time{})
	e.Equal("without a rate", e.ChangeLimit(env.Limit("partner", 20), saved.Version).Rate, (*store.Rate)(nil))
	quiet := e.SaveLimit(env.Limit("quiet", 0, func(l *store.Limit) {
		l.Uncapped, l.NoJobs, l.Rate = true, true, &store.Rate{Per: time.Minute}
	}))
	e.Equal("read", e.LimitOf("quiet"), quiet)
}

// rateComes: a burst of ten is nine at once, as each may be used for 20 ms; then one comes every 20
// ms, also in advance.
func rateComes(e *env.Env) {
	l := e.SaveLimit(rated("partner", 50, time.Second, 10))
	p := permits(e, permitsOf(l, 11))
	e.Equal("the first", froms(p), []time.Duration{0, 0, 0, 0, 0, 0, 0, 0, 0, 20 * ms, 40 * ms})
	e.Equal("the last use of the first and the last", []time.Duration{p.Until(0), p.Until(8), p.Until(10)},
		[]time.Duration{20 * ms, 120 * ms, 160 * ms})
	e.Equal("what comes next", p.Next, 60*ms)
	e.Equal("as the limit tells it", e.LimitOf("partner").NextAt, e.Clock.Now().Add(60*ms))
	e.Equal("as far ahead as there are", froms(permits(e, permitsOf(l, 100))), []time.Duration{60 * ms, 80 * ms, 100 * ms})
	e.Clock.Advance(50 * ms)
	e.Equal("later", froms(permits(e, permitsOf(l, 100))), []time.Duration{70 * ms, 90 * ms})
	e.Clock.Advance(time.Hour)
	e.Equal("after a long time", permits(e, permitsOf(l, 9)).From(8), time.Duration(0))
	slow := e.SaveLimit(rated("slow", 1, time.Minute, 1))
	e.Equal("the first of few", froms(permits(e, permitsOf(slow, 3))), []time.Duration{0})
	e.Equal("which are farther apart", permits(e, permitsOf(slow, 3)).Next, time.Minute+store.PermitLife)
	e.Equal("however far ahead", froms(permits(e, store.PermitAsk{Limit: slow.ID, Version: slow.Version, Want: 2, Ahead: time.Hour})),
		[]time.Duration{time.Minute + store.PermitLife, 2 * (time.Minute + store.PermitLife)})
	stopped := e.SaveLimit(rated("stopped", 0, time.Minute, 0))
	e.Equal("of none", permits(e, permitsOf(stopped, 3)).Count, 0)
}

// rateLate: calls that are given up take permits all the same, and the times of all are as far
// apart as ever.
func rateLate(e *env.Env) {
	l := e.SaveLimit(rated("partner", 100, time.Second, 3))
	ask := store.PermitAsk{Limit: l.ID, Version: l.Version, Want: 4, Ahead: time.Hour}
	for i := range 10 {
		p := permits(e, ask)
		e.Equal("the first of a call", p.From(0), max(time.Duration(4*i)*10*ms, 0))
		e.Equal("the last of a call", p.From(3), time.Duration(4*i+3)*10*ms)
	}
}

func rateBack(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Second, 4))
	back := func(p store.Permits, n int) store.Permits {
		e.Helper()
		return permits(e, store.PermitAsk{Limit: l.ID, Version: l.Version, Back: n, Move: p.Move})
	}
	first := permits(e, permitsOf(l, 2))
	second := permits(e, permitsOf(l, 1))
	e.Equal("after the first two went back, and another was taken since", back(first, 2).Next, second.Next)
	e.Equal("after the last one went back", back(second, 1).Next, time.Duration(0))
	e.Equal("what there is", permits(e, permitsOf(l, 9)).Count, 1)
	third := permits(e, permitsOf(l, 9))
	e.Equal("what there is then", third.Count, 0)
	e.Clock.Advance(2 * time.Second)
	third = permits(e, permitsOf(l, 2))
	e.Equal("later", third.Count, 2)
	e.Equal("after they went back twice", []int{back(third, 2).Count, back(third, 2).Count}, []int{0, 0})
	fourth := permits(e, permitsOf(l, 9))
	e.Equal("what there is", fourth.Count, 2)
	e.Equal("given back again when others have as many", back(third, 2).Next, fourth.Next)
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", e.Clock.Now().Add(time.Minute), ""))
	e.Equal("given back after a drain", back(fourth, 2).Next, time.Minute)
}

func rateDrain(e *env.Env) {
	l := e.SaveLimit(rated("partner", 10, time.Second, 5))
	drain := func(d time.Duration) {
		e.Helper()
		e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", e.Clock.Now().Add(d), ""))
	}
	drain(time.Minute)
	e.Equal("while it is drained", permits(e, permitsOf(l, 9)).Count, 0)
	drain(time.Second)
	e.Equal("after an earlier end", permits(e, permitsOf(l, 9)).Next, time.Minute)
	e.Equal("and what it tells", e.LimitOf("partner").DrainedUntil, e.Clock.Now().Add(time.Minute))
	e.Clock.Advance(time.Minute)
	e.Equal("in the end they come one by one", froms(permits(e, permitsOf(l, 9))), []time.Duration{0, 100 * ms})
	e.Clock.Advance(time.Hour)
	drain(0)
	e.Equal("what was saved up is gone", froms(permits(e, permitsOf(l, 9))), []time.Duration{0, 100 * ms})
}

func rateDrainKept(e *env.Env) {
	l := e.SaveLimit(rated("partner", 0, time.Second, 0))
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", e.Clock.Now().Add(time.Minute), ""))
	l = e.ChangeLimit(rated("partner", 100, time.Second, 50), l.Version)
	e.Equal("the next one", permits(e, permitsOf(l, 1)).Next, time.Minute)
}

func rateClock(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Second, 1))
	apart := time.Second + store.PermitLife
	e.Equal("the first", permits(e, permitsOf(l, 1)).Count, 1)
	e.Clock.Set(e.Clock.Now().Add(-time.Hour))
	e.Equal("when the clock was set back", permits(e, permitsOf(l, 1)).Next, apart)
	e.Clock.Advance(apart)
	p := permits(e, permitsOf(l, 2))
	e.Equal("when it is time", froms(p), []time.Duration{0})
}

// rateChanged: permits that were taken count by the new rate.
func rateChanged(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Minute, 11))
	e.Equal("taken", permits(e, permitsOf(l, 10)).Count, 10)
	l = e.ChangeLimit(rated("partner", 10, time.Second, 5), l.Version)
	p := permits(e, permitsOf(l, 9))
	// Of ten that were taken three are more than there are at once.
	e.Equal("at ten a second", []any{p.Count, p.Next}, []any{0, 700 * ms})
	e.Clock.Advance(time.Hour)
	l = e.ChangeLimit(env.Limit("partner", 3), l.Version)
	l = e.ChangeLimit(rated("partner", 10, time.Second, 5), l.Version)
	e.Equal("a rate that was taken away and came again", permits(e, permitsOf(l, 9)).Count, 5)
	l = e.ChangeLimit(env.Limit("partner", 2, func(l *store.Limit) { l.Rate = &store.Rate{Count: 10, Per: time.Second, Burst: 5} }), l.Version)
	e.Equal("another capacity", permits(e, permitsOf(l, 9)).Count, 0)
}

func reservation(run *store.Claimed, seq int64, before time.Time) *store.Reservation {
	return &store.Reservation{
		Namespace: env.Namespace, Name: "partner", Before: before,
		Append: &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Step(seq)}},
		Say:    func(r *store.Reservation) { r.Append.Entries[0].Data = []byte(r.At.Format(`"15:04:05.000"`)) },
	}
}

// reserve takes a permit for a run, and writes down when it comes.
func reserve(e *env.Env, run *store.Claimed, seq int64, before time.Time, late ...time.Duration) (*store.Reservation, error) {
	e.Helper()
	r := reservation(run, seq, before)
	for _, d := range late {
		r.Late = d
	}
	return r, e.Store.Reserve(e.Ctx, r)
}

func rateReserved(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Second, 1))
	apart := time.Second + store.PermitLife
	node, id := e.Join(), e.Add()
	run := e.ClaimOne(node, id)
	for n := range int64(3) {
		r, err := reserve(e, &run, n+1, time.Time{})
		e.NoError("Reserve", err)
		want := time.Time{}
		if n > 0 {
			want = e.Clock.Now().Add(time.Duration(n) * apart)
		}
		e.Equal("when it comes", r.At, want)
		entries := e.WantEntries(id, int(n)+1)
		e.Equal("what the journal says", string(entries[n].Data), want.Format(`"15:04:05.000"`))
	}
	next := e.LimitOf("partner").NextAt
	_, err := reserve(e, &run, 2, time.Time{})
	e.WantErr("one that is in the journal", err, store.ErrLeaseLost)
	stale := run
	stale.Lease.Number++
	_, err = reserve(e, &stale, 4, time.Time{})
	e.WantErr("one of a run that lost its lease", err, store.ErrLeaseLost)
	e.Equal("the next permit after those that were refused", e.LimitOf("partner").NextAt, next)
	e.WantEntries(id, 3)
	stopped := e.ChangeLimit(rated("partner", 0, time.Second, 0), l.Version)
	r, err := reserve(e, &run, 4, time.Time{})
	e.NoError("Reserve", err)
	e.Equal("of a rate of 0", []any{r.Stopped, r.At}, []any{true, time.Time{}})
	e.WantEntries(id, 4)
	e.ChangeLimit(rated("partner", 1, 366*24*time.Hour, 1), stopped.Version)
	for n := range int64(20) {
		if _, err = reserve(e, &run, n+5, time.Time{}); err != nil {
			break
		}
	}
	e.WantErr("one in more than ten years", err, store.ErrConflict)
}

func rateReservedAgain(e *env.Env) {
	e.SaveLimit(rated("partner", 1, time.Minute, 1))
	run := e.ClaimOne(e.Join(), e.Add())
	_, err := reserve(e, &run, 1, time.Time{})
	e.NoError("Reserve", err)
	second, err := reserve(e, &run, 2, time.Time{})
	e.NoError("Reserve", err)
	next := e.LimitOf("partner").NextAt
	again, err := reserve(e, &run, 3, second.At)
	e.NoError("Reserve", err)
	e.Equal("one that is still good", again.At, time.Time{})
	e.Equal("the next permit", e.LimitOf("partner").NextAt, next)
	until := e.Clock.Now().Add(time.Hour)
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", until, ""))
	again, err = reserve(e, &run, 4, second.At)
	e.NoError("Reserve", err)
	e.Equal("after a drain", again.At, until)
}

// rateMissed: a permit is good as long after its time as is said, and another one is taken, at once
// if one is there, when that is over.
func rateMissed(e *env.Env) {
	e.SaveLimit(rated("partner", 1, time.Minute, 1))
	apart := time.Minute + store.PermitLife
	run := e.ClaimOne(e.Join(), e.Add())
	seq := int64(0)
	next := func(before time.Time) *store.Reservation {
		e.Helper()
		seq++
		r, err := reserve(e, &run, seq, before, time.Second)
		e.NoError("Reserve", err)
		return r
	}
	next(time.Time{})
	second, third, fourth := next(time.Time{}).At, next(time.Time{}).At, next(time.Time{}).At
	e.Clock.Set(second.Add(time.Second))
	e.Equal("one that is a second late", next(second).At, time.Time{})
	e.Equal("the next permit", e.LimitOf("partner").NextAt, fourth.Add(apart))
	e.Clock.Set(third.Add(time.Second + time.Microsecond))
	e.Equal("one that is later", next(third).At, fourth.Add(apart))
	e.Equal("the next permit", e.LimitOf("partner").NextAt, fourth.Add(2*apart))
	e.Clock.Set(fourth.Add(time.Hour))
	e.Equal("one where there is another one at once", next(fourth).At, time.Time{})
	e.Equal("the next permit", e.LimitOf("partner").NextAt, e.Clock.Now().Add(apart))
}

// rateDrainFar: a limit may be drained for longer than durations go.
func rateDrainFar(e *env.Env) {
	l := e.SaveLimit(rated("partner", 10, time.Second, 3))
	last := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", last, ""))
	p := permits(e, permitsOf(l, 1))
	e.Equal("until the last year", []any{p.Count, p.Next}, []any{0, 2 * store.MostAhead})
	e.Equal("what it tells", e.LimitOf("partner").DrainedUntil, last)
	for _, until := range []time.Time{last.Add(time.Second), time.Unix(1<<60, 0), time.Unix(-1<<60, 0)} {
		e.WantErr("until a time that is none", e.Store.Drain(e.Ctx, env.Namespace, "partner", until, ""), store.ErrInvalid)
	}
}

func rateMissing(e *env.Env) {
	l := e.SaveLimit(env.Limit("partner", 5))
	got, err := e.Store.TakePermits(e.Ctx, []store.PermitAsk{permitsOf(l, 1), {Limit: l.ID + 1000, Version: 1, Want: 1}})
	e.NoError("TakePermits", err)
	e.Equal("answers", got, nil, cmpopts.EquateEmpty())
	l = e.ChangeLimit(rated("partner", 1, time.Second, 1), l.Version)
	old := permitsOf(l, 1)
	old.Version--
	got, err = e.Store.TakePermits(e.Ctx, []store.PermitAsk{old})
	e.NoError("TakePermits", err)
	e.Equal("answers about another version", got, nil, cmpopts.EquateEmpty())
	e.ChangeLimit(env.Limit("partner", 5), l.Version)
	run := e.ClaimOne(e.Join(), e.Add())
	for _, c := range []struct {
		name string
		want error
	}{{"partner", store.ErrInvalid}, {"other", store.ErrNotFound}} {
		e.WantErr("Drain of "+c.name, e.Store.Drain(e.Ctx, env.Namespace, c.name, e.Clock.Now(), ""), c.want)
		e.WantErr("ResumeLimit of "+c.name, e.Store.ResumeLimit(e.Ctx, store.ResumeLimitParams{Namespace: env.Namespace, Name: c.name}), c.want)
		r := &store.Reservation{Namespace: env.Namespace, Name: c.name, Append: &store.Append{Lease: run.Lease}, Say: func(*store.Reservation) {}}
		r.Append.Entries = []store.Entry{env.Step(1)}
		e.WantErr("Reserve of "+c.name, e.Store.Reserve(e.Ctx, r), c.want)
	}
	e.WantErr("Drain of another namespace's", e.Store.Drain(e.Ctx, env.OtherSpace, "partner", e.Clock.Now(), ""), store.ErrNotFound)
	e.WantEntries(run.Job.ID, 0)
}

func rateInvalid(e *env.Env) {
	for what, l := range map[string]store.Limit{
		"a negative rate":            rated("bad", -1, time.Second, 0),
		"no time":                    rated("bad", 1, 0, 0),
		"too long a time":            rated("bad", 1, store.MostPeriod+1, 0),
		"too many jobs":              rated("bad", 100_001, time.Second, 0),
		"jobs beyond all numbers":    rated("bad", 1<<61, time.Second, 0),
		"a negative burst":           rated("bad", 1, time.Second, -1),
		"a burst below that of 20ms": rated("bad", 50, time.Second, 1),
		"a burst of years":           rated("bad", 1, store.MostPeriod, 11),
		"neither":                    env.Limit("bad", 0, func(l *store.Limit) { l.Uncapped = true }),
		"a capacity that is none":    env.Limit("bad", 1, func(l *store.Limit) { *l = rated("bad", 1, time.Second, 1); l.Capacity = 1 }),
		"no jobs, of a queue": env.Limit("bad", 0, func(l *store.Limit) {
			*l = rated("bad", 1, time.Second, 1)
			l.NoJobs, l.Queues = true, []string{"q"}
		}),
	} {
		e.WantErr(what, env.ErrOf(e.Store.SaveLimit(e.Ctx, l, 0, "")), store.ErrInvalid)
	}
	l := e.SaveLimit(rated("partner", 1, time.Second, 1))
	for what, asks := range map[string][]store.PermitAsk{
		"two asks about one limit": {permitsOf(l, 1), permitsOf(l, 1)},
		"less than nothing":        {permitsOf(l, -1)},
		"too many":                 {permitsOf(l, store.MaxCapacity+1)},
		"in the past":              {{Limit: l.ID, Version: l.Version, Want: 1, Ahead: -1}},
		"in many years":            {{Limit: l.ID, Version: l.Version, Want: 1, Ahead: store.MostAhead + 1}},
		"less than nothing back":   {{Limit: l.ID, Version: l.Version, Back: -1}},
	} {
		e.WantErr(what, env.ErrOf(e.Store.TakePermits(e.Ctx, asks)), store.ErrInvalid)
	}
	e.Equal("what is left", permits(e, permitsOf(l, 1)).Count, 1)
}

func rateUncapped(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Second, 1))
	node := e.Join()
	e.Equal("slots", e.Slots(node, l, 0, 1000), 1000)
	e.Slots(node, l, 0, 0)
	l = e.ChangeLimit(env.Limit("partner", 3, func(c *store.Limit) { c.Rate = l.Rate }), l.Version)
	e.Equal("slots", e.Slots(node, l, 0, 1000), 3)
}

// rateDead: who has permits is not remembered.
func rateDead(e *env.Env) {
	l := e.SaveLimit(rated("partner", 10, time.Second, 3))
	dead := e.Join()
	e.ClaimOne(dead, e.Add())
	permits(e, permitsOf(l, 2))
	e.Clock.Advance(env.DeadAfter)
	e.Rescue()
	e.Equal("what there is", permits(e, permitsOf(l, 2)).Count, 2)
	e.NoError("DeleteLimit", e.Store.DeleteLimit(e.Ctx, env.Namespace, "partner", false, ""))
}

func rateMany(e *env.Env) {
	var asks []store.PermitAsk
	want := map[int64]int{}
	for i, name := range []string{"z", "a", "m", "b"} {
		l := e.SaveLimit(rated(name, 10, time.Second, 2+i))
		asks, want[l.ID] = append(asks, permitsOf(l, 1+i)), 1+i
	}
	got, err := e.Store.TakePermits(e.Ctx, asks)
	e.NoError("TakePermits", err)
	counts := map[int64]int{}
	for _, p := range got {
		counts[p.Limit] = p.Count
	}
	e.Equal("permits", counts, want)
	got, err = e.Store.TakePermits(e.Ctx, nil)
	e.NoError("TakePermits", err)
	e.Equal("of nothing", got, nil, cmpopts.EquateEmpty())
}

func rateIfWaiting(e *env.Env) {
	l := env.Limit("partner", 0, func(l *store.Limit) {
		*l = rated("partner", 10, time.Second, 3)
		l.Queues, l.Kinds = []string{"mail"}, map[string]int{"send": 1}
	})
	l = e.SaveLimit(l)
	ask := permitsOf(l, 1)
	ask.IfWaiting = true
	e.Add(env.Queue("other"))
	if p := permits(e, ask); p.None == (p.Count == 1) {
		e.Errorf("the answer is %+v", p)
	}
	perKey := func(q *store.Enqueue) { q.Job.Options.Limit, q.Job.Options.LimitKey = "customer", "acme" }
	id := e.Add(env.Queue("mail"), perKey)
	e.Equal("with a job that counts, and in a limit per key", permits(e, ask).Count, 1)
	e.Terminate(id)
	e.Add(env.Queue("mail"))
	e.Equal("with a job that counts", permits(e, ask).Count, 1)
}

// rateRules: whatever is asked, given back, drained and changed, and wherever the clock goes, the
// answers are those of the rules that are written down in Go.
func rateRules(e *env.Env) {
	random := rand.New(rand.NewPCG(1, 2))
	rates := []store.Rate{
		{Count: 10, Per: time.Second, Burst: 5}, {Count: 7, Per: time.Minute}, {Count: 1000, Per: time.Second, Burst: 30}, {Per: time.Second},
	}
	now := rates[0]
	l := e.SaveLimit(rated("partner", now.Count, now.Per, now.Burst))
	s := gcra.State{Burst: 1}
	s.Become(e.Clock.Now().UnixMicro(), &now)
	moves := [][2]int64{{0, 0}} // as the store and as the rules number them
	for step := range 120 {
		switch at := e.Clock.Now(); random.IntN(13) {
		case 0:
			now = rates[random.IntN(len(rates))]
			l = e.ChangeLimit(rated("partner", now.Count, now.Per, now.Burst), l.Version)
			s.Become(at.UnixMicro(), &now)
		case 1:
			until := at.Add(time.Duration(random.IntN(2000)-500) * ms)
			e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", until, ""))
			s.Drain(at.UnixMicro(), until.UnixMicro())
		case 12:
			resume(e)
			s.Resume(at.UnixMicro())
		case 2:
			e.Clock.Set(at.Add(-time.Duration(random.IntN(1500)) * ms))
		case 3, 4, 5:
			e.Clock.Advance(time.Duration(random.IntN(700_000)) * time.Microsecond)
		default:
			ask := permitsOf(l, random.IntN(6))
			ask.Ahead = time.Duration(random.IntN(3)) * store.PermitAhead
			rule := ask
			if random.IntN(2) == 0 {
				last := moves[len(moves)-1-random.IntN(min(2, len(moves)))]
				ask.Back = random.IntN(3)
				rule.Back, ask.Move, rule.Move = ask.Back, last[0], last[1]
			}
			want, _ := s.Take(at.UnixMicro(), &rule)
			got := permits(e, ask)
			moves = append(moves, [2]int64{got.Move, want.Move})
			got.Move = want.Move
			if got != want {
				e.Fatalf("step %d: %+v is answered %+v, and by the rules it is %+v", step, ask, got, want)
			}
		}
		state := l
		s.Tell(&state)
		told := e.LimitOf("partner")
		if !told.NextAt.Equal(state.NextAt) || !told.DrainedUntil.Equal(state.DrainedUntil) || told.Resumed != state.Resumed {
			e.Fatalf("step %d: the next permit comes at %v and it is drained until %v, and by the rules at %v and until %v",
				step, told.NextAt, told.DrainedUntil, state.NextAt, state.DrainedUntil)
		}
	}
}
