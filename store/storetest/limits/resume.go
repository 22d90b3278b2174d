package limits

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// resume takes back a drain of the limit "partner".
func resume(e *env.Env) {
	e.Helper()
	e.NoError("ResumeLimit", e.Store.ResumeLimit(e.Ctx, store.ResumeLimitParams{
		Namespace: env.Namespace, Name: "partner", Actor: "ada", Reason: "they are well again",
	}))
}

// drainFor drains the limit "partner".
func drainFor(e *env.Env, d time.Duration) {
	e.Helper()
	e.NoError("Drain", e.Store.Drain(e.Ctx, env.Namespace, "partner", e.Clock.Now().Add(d), ""))
}

func rateResumed(e *env.Env) {
	l := e.SaveLimit(rated("partner", 10, time.Second, 5))
	before := e.LimitOf("partner")
	resume(e)
	e.Equal("one that is not drained", e.LimitOf("partner"), before)
	e.Equal("which gives what it has", permits(e, permitsOf(l, 1)).Count, 1)
	drainFor(e, time.Hour)
	e.Clock.Advance(time.Minute)
	e.Equal("while it is drained", permits(e, permitsOf(l, 9)).Next, 59*time.Minute)
	resume(e)
	now := e.LimitOf("partner")
	e.Equal("what it tells", []any{now.DrainedUntil, now.NextAt, now.Resumed}, []any{e.Clock.Now(), e.Clock.Now(), int64(1)})
	e.Equal("then they come one by one", froms(permits(e, permitsOf(l, 9))), []time.Duration{0, 100 * ms})
	resume(e)
	e.Equal("taken back twice", e.LimitOf("partner").Resumed, int64(1))
	drainFor(e, time.Second)
	e.Equal("after another drain", permits(e, permitsOf(l, 9)).Next, time.Second)
	resume(e)
	e.Equal("which was taken back, too", e.LimitOf("partner").Resumed, int64(2))

	e.ChangeLimit(rated("partner", 0, time.Second, 0), l.Version)
	drainFor(e, time.Hour)
	resume(e)
	l = e.ChangeLimit(rated("partner", 100, time.Second, 50), l.Version+1)
	e.Equal("one whose rate was 0 meanwhile", permits(e, permitsOf(l, 1)).Count, 1)
	other := store.ResumeLimitParams{Namespace: env.OtherSpace, Name: "partner"}
	e.WantErr("ResumeLimit of another namespace's", e.Store.ResumeLimit(e.Ctx, other), store.ErrNotFound)
}

// rateResumedAtOnce: what was used just before the drain counts, so that a limit gives no more
// permits because it is drained and that is taken back.
func rateResumedAtOnce(e *env.Env) {
	l := e.SaveLimit(rated("partner", 1, time.Second, 5))
	e.Equal("what there is", permits(e, permitsOf(l, 9)).Count, 4)
	for range 3 {
		drainFor(e, time.Hour)
		resume(e)
		e.Equal("after a drain that lasted no time", permits(e, permitsOf(l, 9)).Count, 0)
	}
	e.Clock.Advance(time.Second + store.PermitAhead)
	e.Equal("when the next one comes", permits(e, permitsOf(l, 1)).Count, 1)
	drainFor(e, time.Hour)
	e.Clock.Set(e.Clock.Now().Add(-time.Minute))
	resume(e)
	e.Clock.Advance(time.Second + store.PermitAhead)
	e.Equal("when the clock was set back", permits(e, permitsOf(l, 9)).Count, 1)
}

// rateResumedVoid: permits that were booked before a drain, and during it, are replaced.
func rateResumedVoid(e *env.Env) {
	e.SaveLimit(rated("partner", 1, time.Minute, 1))
	apart := time.Minute + store.PermitLife
	run := e.ClaimOne(e.Join(), e.Add())
	seq := int64(0)
	book := func(before *store.Reservation) *store.Reservation {
		e.Helper()
		seq++
		r := reservation(&run, seq, before.At)
		r.BeforeResumed = before.Resumed
		e.NoError("Reserve", e.Store.Reserve(e.Ctx, r))
		return r
	}
	none := &store.Reservation{}
	book(none)
	book(none)
	third := book(none)
	e.Clock.Advance(time.Second)
	drainFor(e, 90*time.Second)
	fourth := book(none)
	e.Equal("booked before and during the drain", []time.Time{third.At, fourth.At}, []time.Time{
		e.Clock.Now().Add(2*apart - time.Second), e.Clock.Now().Add(2*apart - time.Second + apart),
	})
	e.Clock.Advance(apart + store.PermitAhead)
	resume(e)
	at := e.Clock.Now()
	e.Equal("the next permit", e.LimitOf("partner").NextAt, at)
	fifth := book(none)
	e.Equal("the first one after it", fifth.At, time.Time{})
	e.Equal("another one instead of that from before", book(third).At, at.Add(apart))
	sixth := book(fourth)
	e.Equal("another one instead of that from the drain", sixth.At, at.Add(2*apart))
	e.Equal("one that was booked since", book(sixth).At, time.Time{})
	e.Equal("of which none was taken", e.LimitOf("partner").NextAt, at.Add(3*apart))
}
