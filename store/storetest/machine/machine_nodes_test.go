package machine

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestTheMachineNoticesNodes breaks what nodes promise, give as signs of life, and are told, and
// what clocks and requests change.
func TestTheMachineNoticesNodes(t *testing.T) {
	t.Parallel()
	keyed, durable := mode{keyed: true}, mode{durable: true}
	tellNoTurn := func(b *store.Batch) {
		b.Woken = slices.DeleteFunc(b.Woken, func(w store.Wake) bool { return w.Kind == store.WakeDeferred })
	}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"promises that are forgotten":              {func(s store.Store) store.Store { return &forgetful{s} }, mode{}},
		"a backoff of others":                      {func(s store.Store) store.Store { return &impatient{s} }, mode{}},
		"a sign of life that nobody sees":          {func(s store.Store) store.Store { return &buries{s} }, mode{}},
		"a rescue that takes one record only":      {func(s store.Store) store.Store { return &rescuesOnce{s} }, mode{}},
		"a node that keeps what it gives up":       {func(s store.Store) store.Store { return &clings{s} }, mode{}},
		"a node that gives up too much":            {func(s store.Store) store.Store { return &despairs{s} }, mode{}},
		"a leader that is told of no other node":   {onBeat(func(b *store.Beat) { b.Nodes = nil }), mode{}},
		"a beat of another time":                   {onBeat(func(b *store.Beat) { b.At = b.At.Add(time.Microsecond) }), mode{}},
		"another's beat of another time":           {onBeat(eachNode(func(n *store.NodeBeat) { n.At = n.At.Add(time.Microsecond) })), mode{}},
		"a node that is not told what it holds":    {onBeat(func(b *store.Beat) { b.Held = nil }), mode{}},
		"a node that is told of one claim more":    {onBeatParams(func(p *store.BeatParams) { p.Held.To += 10 }), mode{}},
		"a mode that is not told":                  {onBeat(func(b *store.Beat) { b.Mode = store.NodeRuns }), mode{}},
		"what is wrong, and is not kept":           {onBeatParams(func(p *store.BeatParams) { p.Unwell = nil }), mode{}},
		"a mode that ends with the membership":     {func(s store.Store) store.Store { return &restarts{s} }, mode{}},
		"a node that drains and goes on":           {func(s store.Store) store.Store { return &revives{s} }, mode{}},
		"a range that begins too late":             {onBeatParams(func(p *store.BeatParams) { p.Held.From += 10 }), mode{}},
		"claims that are named in vain":            {onBeatParams(func(p *store.BeatParams) { p.Held.Claims = nil }), mode{}},
		"an outcome that is due at no time":        {onApply(nil, eachOutcome(func(o *store.Outcome) { o.Due = time.Time{} })), mode{}},
		"a park that is due at no time":            {onApply(nil, eachOutcome(noDue)), durable},
		"a turn that is not told":                  {onApply(nil, tellNoTurn), keyed},
		"a delay without an end":                   {onApply(eachEnqueue(func(q *store.Enqueue) { q.MaxDelay = 0 }), nil), mode{}},
		"a run time that is cut":                   {onApply(eachEnqueue(cutRunTime), nil), mode{}},
		"a time of an outcome that is cut":         {onApply(eachOutcome(cutTime), nil), mode{}},
		"knowledge of a cancel that is not heeded": {onApply(eachOutcome(func(o *store.Outcome) { o.CancelSeen = false }), nil), durable},
		"knowledge of a cancel that nobody has":    {onApply(eachOutcome(func(o *store.Outcome) { o.CancelSeen = true }), nil), durable},
		"a sweep that lets go what was asked":      {func(s store.Store) store.Store { return &sweepsAll{s} }, durable},
		"a generation that is forgotten":           {func(s store.Store) store.Store { return &closesOnce{s} }, durable},
		"a queue that is removed with its jobs":    {func(s store.Store) store.Store { return &retiresAll{s, false} }, mode{}},
	} {
		notices(t, name, c.breaks, c.mode)
	}
	noticesOpened(t, "a clock that never goes back", func(clock *env.Clock) store.Store {
		var last time.Time
		return model.New(func() time.Time {
			if now := clock.Now(); now.After(last) {
				last = now
			}
			return last
		})
	}, mode{})
}
