package facts

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var factTests = env.Tests{
	"all_of_a_fact_is_kept":                            kept,
	"a_fact_that_is_written_again_replaces_the_old":    again,
	"a_write_that_comes_late_changes_nothing":          late,
	"minutes_that_are_too_old_are_left_out":            tooOld,
	"nodes_and_numbers_do_not_meet":                    apart,
	"pages_are_in_order_and_have_all":                  paged,
	"a_page_is_of_its_times_span_and_namespace":        chosen,
	"a_fact_that_cannot_be_one_is_refused":             refused,
	"hours_take_the_place_of_minutes":                  merged,
	"what_is_merged_twice_is_a_conflict":               twice,
	"what_was_changed_meanwhile_is_a_conflict":         meanwhile,
	"facts_may_go_without_others_in_their_place":       removed,
	"what_is_measured_is_there_or_not_and_not_a_guess": measured,
}

func kept(e *env.Env) {
	f := e.Fact(1, "\x00\xff any bytes")
	f.Version, f.Gauges = 7, []byte(`{"cpu":1}`)
	bare := e.Fact(2, "")
	bare.Jobs = nil
	e.KeepFacts(f, bare)
	e.Equal("the facts", e.Facts(store.FactMinute), []store.Fact{f, bare})
	e.KeepFacts()
}

func again(e *env.Env) {
	f := e.Fact(1, "a")
	e.KeepFacts(f)
	e.KeepFacts(f) // the answer was lost
	e.WantFacts(store.FactMinute, "1.1: a")
	f.Version, f.Jobs, f.Gauges = 1, []byte("b"), []byte("g")
	e.KeepFacts(f)
	e.Equal("the facts", e.Facts(store.FactMinute), []store.Fact{f})
	f.Gauges = nil
	e.KeepFacts(f)
	e.Equal("the facts", e.Facts(store.FactMinute), []store.Fact{f})
}

func late(e *env.Env) {
	old, now := e.Fact(1, "old"), e.Fact(1, "new")
	now.Version = 2
	e.KeepFacts(now)
	e.KeepFacts(old)
	e.WantFacts(store.FactMinute, "1.1: new")
	e.Clock.Advance(time.Minute)
	newer, older := e.Fact(1, "new"), e.Fact(1, "old")
	newer.Version = 2
	e.KeepFacts(newer, older) // in one call
	older.Node, newer.Node = 2, 2
	e.KeepFacts(older, newer)
	e.WantFacts(store.FactMinute, "1.1: new", "1.1: new", "2.1: new")
}

func tooOld(e *env.Env) {
	old := e.Fact(1, "old")
	e.Clock.Advance(store.FactsLate - time.Minute)
	e.KeepFacts(old)
	e.WantFacts(store.FactMinute, "1.1: old")
	e.Clock.Advance(2 * time.Minute)
	old.Version, old.Jobs = 9, []byte("later")
	other := old
	other.Node = 2
	e.KeepFacts(old, other, e.Fact(3, "now"))
	e.WantFacts(store.FactMinute, "1.1: old", "3.1: now")
}

func apart(e *env.Env) {
	f := e.Fact(1, "a")
	number := f
	number.Number, number.Jobs = 2, []byte("b")
	space := f
	space.Namespace, space.Jobs = env.OtherSpace, []byte("c")
	database := f
	database.Namespace, database.Jobs = "", []byte("d")
	e.KeepFacts(f, number, space, database, e.Fact(2, "e"))
	if n := len(e.Facts(store.FactMinute)); n != 5 {
		e.Errorf("%d facts are kept, of 5", n)
	}
}

func paged(e *env.Env) {
	var all []store.Fact
	for minute := range 3 {
		for _, space := range []string{"", "Z", "a", "é"} { // in the order of their bytes
			for node := range int64(2) {
				for number := range int64(2) {
					f := e.Fact(node, fmt.Sprint(minute, space, node, number))
					f.Namespace, f.Number = space, number
					all = append(all, f)
				}
			}
		}
		e.Clock.Advance(time.Minute)
	}
	e.KeepFacts(all...)
	for limit := 1; limit <= 17; limit += 4 {
		for _, space := range []string{"all", "", "a"} {
			params := store.FactParams{
				Span: store.FactMinute, All: space == "all", Namespace: space, From: all[0].At, To: e.Clock.Now(), Limit: limit,
			}
			var got, want []store.Fact
			for {
				page, err := e.Store.Facts(e.Ctx, params)
				e.NoError("Facts", err)
				if len(page) > limit {
					e.Fatalf("a page of %d has %d", limit, len(page))
				}
				if got = append(got, page...); len(page) < limit {
					break
				}
				params.After = page[limit-1].FactKey
			}
			for i := range all {
				if params.All || all[i].Namespace == space {
					want = append(want, all[i])
				}
			}
			e.Equal(fmt.Sprintf("pages of %d of %s", limit, space), got, want)
		}
	}
}

func chosen(e *env.Env) {
	first := e.Fact(1, "first")
	e.KeepFacts(first)
	e.Clock.Advance(time.Minute)
	second := e.Fact(1, "second")
	e.KeepFacts(second)
	hour := e.Fact(0, "hour")
	hour.At, hour.Span = hour.At.Truncate(time.Hour), store.FactHour
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, nil, []store.Fact{hour}))
	for _, c := range []struct {
		params store.FactParams
		want   string
	}{
		{store.FactParams{Span: store.FactMinute, From: first.At, To: second.At}, "first"},
		{store.FactParams{Span: store.FactMinute, From: first.At.Add(1000), To: second.At.Add(time.Minute)}, "second"},
		{store.FactParams{Span: store.FactMinute, From: first.At, To: second.At.Add(1000)}, "first second"},
		{store.FactParams{Span: store.FactMinute, From: second.At, To: first.At}, ""},
		{store.FactParams{Span: store.FactHour, From: hour.At, To: hour.At.Add(1000)}, "hour"},
	} {
		for _, space := range []string{env.Namespace, env.OtherSpace, ""} {
			c.params.Namespace, c.params.Limit = space, 10
			page, err := e.Store.Facts(e.Ctx, c.params)
			e.NoError("Facts", err)
			var got []string
			for i := range page {
				got = append(got, string(page[i].Jobs))
			}
			if want := c.want; space != env.Namespace {
				e.Equal("those of another namespace", len(got), 0)
			} else if strings.Join(got, " ") != want {
				e.Errorf("%+v: %v, want %v", c.params, got, want)
			}
		}
	}
}

func refused(e *env.Env) {
	good := e.Fact(1, "good")
	for what, change := range map[string]func(*store.Fact){
		"no span":            func(f *store.Fact) { f.Span = 0 },
		"an hour":            func(f *store.Fact) { f.Span, f.At = store.FactHour, f.At.Truncate(time.Hour) },
		"half a minute":      func(f *store.Fact) { f.At = f.At.Add(30 * time.Second) },
		"a negative node":    func(f *store.Fact) { f.Node = -1 },
		"a negative number":  func(f *store.Fact) { f.Number = -1 },
		"a negative version": func(f *store.Fact) { f.Version = -1 },
		"too many gauges":    func(f *store.Fact) { f.Gauges = make([]byte, store.FactGaugesBytes+1) },
		"too large":          func(f *store.Fact) { f.Jobs = make([]byte, store.FactJobsBytes+1) },
	} {
		f := e.Fact(2, "two")
		change(&f)
		e.WantErr(what, e.Store.KeepFacts(e.Ctx, []store.Fact{good, f}), store.ErrInvalid)
		if what != "an hour" {
			e.WantErr(what, e.Store.MergeFacts(e.Ctx, nil, []store.Fact{good, f}), store.ErrInvalid)
		}
	}
	e.WantErr("too many", e.Store.KeepFacts(e.Ctx, make([]store.Fact, store.FactsLimit+1)), store.ErrInvalid)
	e.WantFacts(store.FactMinute)
	for _, p := range []store.FactParams{{Limit: 1}, {Span: 3, Limit: 1}, {Span: store.FactHour}, {Span: store.FactHour, Limit: 1001}} {
		_, err := e.Store.Facts(e.Ctx, p)
		e.WantErr("Facts", err, store.ErrInvalid)
	}
}

// hourOf is the hour of a fact.
func hourOf(f *store.Fact, jobs string) store.Fact {
	return store.Fact{
		FactKey: store.FactKey{At: f.At.Truncate(time.Hour), Namespace: f.Namespace, Span: store.FactHour}, Jobs: []byte(jobs),
	}
}

func merged(e *env.Env) {
	a, b, c := e.Fact(1, "a"), e.Fact(2, "b"), e.Fact(3, "c")
	e.KeepFacts(a, b, c)
	hour := hourOf(&a, "ab")
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, []store.FactKey{a.FactKey, b.FactKey}, []store.Fact{hour}))
	e.WantFacts(store.FactMinute, "3.1: c")
	e.WantFacts(store.FactHour, "0.0: ab")
	// An hour that is there is itself among what is merged.
	all := hourOf(&a, "abc")
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, []store.FactKey{hour.FactKey, c.FactKey}, []store.Fact{all}))
	e.WantFacts(store.FactMinute)
	e.Equal("the hour", e.Facts(store.FactHour), []store.Fact{all})
}

func twice(e *env.Env) {
	a := e.Fact(1, "a")
	e.KeepFacts(a)
	gone, hours := []store.FactKey{a.FactKey}, []store.Fact{hourOf(&a, "a")}
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, gone, hours))
	e.WantErr("what has happened already", e.Store.MergeFacts(e.Ctx, gone, hours), store.ErrConflict)
	e.WantErr("a removal of nothing", e.Store.MergeFacts(e.Ctx, gone, nil), store.ErrConflict)
	e.WantFacts(store.FactMinute)
	e.WantFacts(store.FactHour, "0.0: a")
}

func meanwhile(e *env.Env) {
	a, b := e.Fact(1, "a"), e.Fact(2, "b")
	e.KeepFacts(a, b)
	// Another leader has merged one of them.
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, []store.FactKey{a.FactKey}, []store.Fact{hourOf(&a, "a")}))
	err := e.Store.MergeFacts(e.Ctx, []store.FactKey{b.FactKey, a.FactKey}, []store.Fact{hourOf(&a, "ab")})
	e.WantErr("one is gone", err, store.ErrConflict)
	err = e.Store.MergeFacts(e.Ctx, []store.FactKey{b.FactKey}, []store.Fact{hourOf(&a, "b")})
	e.WantErr("the hour has come", err, store.ErrConflict)
	e.WantFacts(store.FactMinute, "2.1: b")
	e.WantFacts(store.FactHour, "0.0: a")
}

func removed(e *env.Env) {
	a, b := e.Fact(1, "a"), e.Fact(2, "b")
	e.KeepFacts(a, b)
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, []store.FactKey{a.FactKey}, nil))
	e.WantFacts(store.FactMinute, "2.1: b")
	e.NoError("MergeFacts", e.Store.MergeFacts(e.Ctx, nil, nil))
}

func measured(e *env.Env) {
	m, err := e.Store.Measure(e.Ctx)
	e.NoError("Measure", err)
	for what, n := range map[string]*int64{
		"size": m.Size, "free": m.Free, "log": m.Log, "written": m.Written, "disk": m.DiskLeft,
		"connections": m.Connections, "most connections": m.MaxConnections,
	} {
		if n != nil && (*n < 0 || what == "size" && *n == 0) {
			e.Errorf("%s is %d", what, *n)
		}
	}
}
