package machine

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
)

// The failures below are wanted: they need not be kept, nor made small.
func TestMain(m *testing.M) {
	flag.Parse()
	if racing.Less() {
		return // a machine has one goroutine
	}
	set("rapid.nofailfile", "true")
	set("rapid.shrinktime", "0s")
	if err := seeds.read(); err != nil {
		panic(err)
	}
	code := m.Run()
	if *update {
		if err := seeds.write(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

// TestTheMachineNotices breaks the model in many places, one at a time. A machine that lets one
// pass would let the same mistake pass in a database.
func TestTheMachineNotices(t *testing.T) {
	t.Parallel()
	keyed, lossy := mode{keyed: true}, mode{lossy: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"an enqueue that is lost":              {onApply(func(b *store.Batch) { b.Enqueues = b.Enqueues[:len(b.Enqueues)/2] }, nil), mode{}},
		"an outcome that is lost":              {onApply(func(b *store.Batch) { b.Outcomes = b.Outcomes[:len(b.Outcomes)/2] }, nil), mode{}},
		"a checkpoint that is lost":            {onApply(func(b *store.Batch) { b.Checkpoints = nil }, nil), mode{}},
		"a unique key that is not looked at":   {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.UniqueKey = nil }), nil), mode{}},
		"a conflict that is answered wrongly":  {onApply(eachEnqueue(mildly), nil), mode{}},
		"an ordering key that is not kept":     {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.OrderingKey = "" }), nil), keyed},
		"a delay that is too long":             {onApply(eachEnqueue(func(q *store.Enqueue) { q.Delay += q.Delay / 20 }), nil), mode{}},
		"a priority that is not kept":          {onApply(eachEnqueue(func(q *store.Enqueue) { q.Job.Priority = 1 }), nil), mode{}},
		"a snooze that counts":                 {onApply(eachOutcome(countSnooze), nil), mode{}},
		"a deadline that is not looked at":     {onApply(eachEnqueue(noDeadline), nil), mode{}},
		"a stale outcome that is accepted":     {onApply(nil, eachOutcome(func(o *store.Outcome) { o.Err = nil })), mode{}},
		"a repeated outcome that is refused":   {onApply(eachOutcome(func(o *store.Outcome) { o.Repeat = false }), nil), lossy},
		"a repeated enqueue that is a new one": {onApply(nil, eachEnqueue(func(q *store.Enqueue) { q.Result.Existing = false })), mode{}},
		"a claim in the wrong order":           {func(s store.Store) store.Store { return &claimsBackwards{s} }, mode{}},
		"a repeated claim that is a new one":   {func(s store.Store) store.Store { return &claimsAnew{Store: s} }, lossy},
		"a claim of more than was asked":       {func(s store.Store) store.Store { return &claimsMore{s} }, mode{}},
		"a pause that does nothing":            {func(s store.Store) store.Store { return &neverPauses{s} }, mode{}},
		"a cancel that does not arrive":        {func(s store.Store) store.Store { return &deaf{s} }, mode{}},
		"an end from outside that is lost":     {func(s store.Store) store.Store { return &finishesNothing{s} }, mode{durable: true}},
		"a leader that is told of nothing":     {func(s store.Store) store.Store { return &tellsNothing{s} }, mode{durable: true}},
		"a leader beside the leader":           {func(s store.Store) store.Store { return &allLead{s} }, mode{}},
		"a rescue that gives up at once":       {func(s store.Store) store.Store { return &givesUp{s} }, mode{}},
		"a node that comes back from the dead": {func(s store.Store) store.Store { return &undead{s} }, mode{}},
		"a promotion that forgets some":        {func(s store.Store) store.Store { return &promotesOne{s} }, keyed},
		"a retention that is too eager":        {func(s store.Store) store.Store { return &eager{s} }, mode{}},
		"a list without the finished":          {func(s store.Store) store.Store { return &hides{s} }, mode{}},
		"an end that is not told":              {func(s store.Store) store.Store { return &silent{s} }, mode{}},
	} {
		notices(t, name, c.breaks, c.mode)
	}
}

// TestTheMachineNoticesStarts does the same with what concerns jobs that start as they are
// enqueued.
func TestTheMachineNoticesStarts(t *testing.T) {
	t.Parallel()
	startAll := func(q *store.Enqueue) { q.Start = true }
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"a start that is not told":                {onApply(nil, tellNoStart), mode{}},
		"a start that is not told to who repeats": {onApply(nil, tellNoRepeatedStart), mode{}},
		"a start whose answer is lost":            {onApply(nil, tellNoRepeatedStart), mode{lossy: true}},
		"a start that is told in another order":   {onApply(nil, tellBackwards), mode{}},
		"a start that does not count":             {onApply(nil, eachStarted(func(c *store.Claimed) { c.Job.Attempt = 0 })), mode{}},
		"a start under another lease":             {onApply(nil, eachStarted(func(c *store.Claimed) { c.Lease.Slot++ })), mode{}},
		"a start of a job that is to wait":        {onApply(eachEnqueue(startAll), nil), mode{}},
		"a start on another node":                 {func(s store.Store) store.Store { return &startsElsewhere{s} }, mode{}},
		"a start in a paused queue":               {func(s store.Store) store.Store { return &startsPaused{s} }, mode{}},
		"a start that overtakes a released job":   {func(s store.Store) store.Store { return &startsFirst{s} }, mode{}},
	} {
		notices(t, name, c.breaks, c.mode)
	}
}

// TestTheMachineNoticesWhatJobsRemember does the same with what concerns jobs that remember.
func TestTheMachineNoticesWhatJobsRemember(t *testing.T) {
	t.Parallel()
	durable, keyed, lossy := mode{durable: true}, mode{durable: true, keyed: true}, mode{durable: true, lossy: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"an append that is lost":             {onApply(func(b *store.Batch) { b.Appends = b.Appends[:len(b.Appends)/2] }, nil), durable},
		"entries without their children":     {onApply(eachAppend(func(a *store.Append) { a.Enqueues = nil }), nil), durable},
		"a repeated append that is refused":  {onApply(eachAppend(func(a *store.Append) { a.Repeat = false }), nil), lossy},
		"a job that is not closing":          {onApply(eachAppend(func(a *store.Append) { a.Closing = false }), nil), durable},
		"a send that is lost":                {onApply(func(b *store.Batch) { b.Sends = b.Sends[:len(b.Sends)/2] }, nil), durable},
		"a key that is not looked at":        {onApply(eachSend(func(q *store.Send) { q.Key = "" }), nil), durable},
		"a wake-up that is lost":             {onApply(eachWait(func(w *store.Wait) { w.Kinds = 0 }), nil), durable},
		"a wake-up that is not told":         {onApply(nil, func(b *store.Batch) { b.Woken = nil }), durable},
		"a count that is not kept":           {onApply(eachWait(func(w *store.Wait) { w.Count = 0 }), nil), durable},
		"a count that is one too late":       {onApply(eachWait(func(w *store.Wait) { w.Count *= 2 }), nil), durable},
		"failures that nobody looks at":      {onApply(eachWait(func(w *store.Wait) { w.Failures = false }), nil), durable},
		"a message that is seen twice":       {onApply(eachWait(func(w *store.Wait) { w.Seen = 0 }), nil), durable},
		"a time limit that is not kept":      {onApply(eachWait(func(w *store.Wait) { w.Until = time.Time{} }), nil), durable},
		"a held job that wakes":              {onApply(eachWait(func(w *store.Wait) { w.Held = false }), nil), durable},
		"a request that is lost":             {onApply(eachRequest(func(q *store.Send) { q.Message.Kind = store.MessageSignal }), nil), durable},
		"a request with another payload":     {onApply(eachRequest(func(q *store.Send) { q.Message.Data = nil }), nil), durable},
		"a request that wakes nobody":        {onApply(eachWait(func(w *store.Wait) { w.Kinds &^= 1 << store.MessageUpdate }), nil), durable},
		"a request that is thought known":    {onApply(eachWait(func(w *store.Wait) { w.SeenUpdate += 9 }), nil), durable},
		"a request that wakes twice":         {onApply(eachWait(func(w *store.Wait) { w.SeenUpdate = 0 }), nil), durable},
		"an answer that is lost":             {onApply(eachAppend(func(a *store.Append) { a.Answers = nil }), nil), durable},
		"a refusal that is not forgotten":    {func(s store.Store) store.Store { return &grudging{s} }, durable},
		"a version that is not kept":         {onApply(eachOutcome(func(o *store.Outcome) { o.Version = "" }), nil), keyed},
		"a child that does not answer":       {onApply(eachOutcome(func(o *store.Outcome) { o.Answers = false }), nil), durable},
		"children that are forgotten":        {onApply(eachOutcome(func(o *store.Outcome) { o.HasChildren = false }), nil), durable},
		"a durable job that is cancelled":    {onApply(eachOutcome(func(o *store.Outcome) { o.Durable = false }), nil), durable},
		"a continuation with the old args":   {onApply(eachOutcome(func(o *store.Outcome) { o.Continue = nil }), nil), durable},
		"items of before that are gone":      {func(s store.Store) store.Store { return &forgets{s} }, durable},
		"a pause that does nothing":          {func(s store.Store) store.Store { return &neverHolds{s} }, durable},
		"a pause that the node is not told":  {func(s store.Store) store.Store { return &deafToPauses{s} }, durable},
		"a resumption that keeps everything": {func(s store.Store) store.Store { return &keepsAll{s} }, durable},
		"a resumption that asks nothing":     {func(s store.Store) store.Store { return &expectsAll{s} }, durable},
		"a termination that only asks":       {func(s store.Store) store.Store { return &gentle{s} }, durable},
		"a fork that keeps too much":         {func(s store.Store) store.Store { return &forksMore{s} }, durable},
		"children that are never closed":     {func(s store.Store) store.Store { return &orphans{s} }, durable},
		"a cancel that the run is not told":  {func(s store.Store) store.Store { return &untold{s} }, durable},
	} {
		notices(t, name, c.breaks, c.mode)
	}
}
