package crashtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// flowHistory is all that is known of a storm when it is over.
type flowHistory struct {
	plan     map[int]task
	enqueued map[holdfast.ID]int
	forks    map[holdfast.ID]fork
	asks     []*ask
	sends    map[sendTo][]holdfast.SendResult
	replies  map[asking][]reply // what callers were told
	// lastReplies are what callers are told when all is over.
	lastReplies map[asking]reply
	paid        []*payment
	seen        map[holdfast.ID][]words
	looks       map[holdfast.ID][]look
	traces      []trace // in the order of the file
	rows        []row
	records     map[holdfast.ID]store.Record
	journals    map[holdfast.ID]holdfast.Journal
	deaths      map[int64]death
	rules       rules
	ended       bool // nothing was left to finish
}

// The rules that a storm must not break: the names of what is violated.
const (
	noLoss             = "NoLoss"
	oneOwner           = "OneOwner"
	remembered         = "RememberedIsRemembered"
	finishedIsFinal    = "FinishedIsFinal"
	exactlyOnce        = "ExactlyOnce"
	undone             = "Undone"
	childrenAnswer     = "ChildrenAnswer"
	oncePerKey         = "OncePerKey"
	everyDueThing      = "EveryDueThingHappens"
	cancelArrives      = "CancelArrives"
	pauseHolds         = "PauseHolds"
	atMostOnce         = "AtMostOnce"
	actionsAreRecorded = "ActionsAreRecorded"
	nothingIsStuck     = "NothingIsStuck"
	saidIsStored       = "SaidIsStored"
	oneReply           = "OneReply"
	oneHolder          = "OneHolder"
)

// violation is what is wrong with a job.
type violation struct {
	rule string
	job  holdfast.ID
	text string
}

func (v violation) String() string { return fmt.Sprintf("%s: job %s: %s", v.rule, v.job, v.text) }

// flowJob is what is known of one job of a storm.
type flowJob struct {
	task
	store.Record
	journal holdfast.Journal
	traces  []placed
	asks    []asked
	rows    []row
	ended   map[int64]store.Attempt // the attempts on record, by lease
	started map[int64]placed        // the first record of each run
	left    map[int64]bool          // the leases whose runs have ended
	fork    *fork
}

// placed is a record of the file and its place there.
type placed struct {
	at int
	trace
}

// asked is what somebody asked for, and between which places of the file it was answered.
type asked struct {
	*ask
	from, to int
}

// isFlow reports whether the job is durable.
func (j *flowJob) isFlow() bool { return j.Kind == flowKind.Name() }

// reopenings are what may have let a finished job run again.
func (j *flowJob) reopenings() []asked {
	return slices.DeleteFunc(slices.Clone(j.asks), func(a asked) bool { return !a.reopens() })
}

// flowVerifier collects what is wrong.
type flowVerifier struct {
	flowHistory
	figures    flowFigures
	violations []violation
	jobs       map[holdfast.ID]*flowJob
	find       func(holdfast.ID) (store.Record, bool)
	glances    bool // it knows only what was asked and what the database says
}

func newFlowVerifier(h flowHistory) *flowVerifier {
	v := &flowVerifier{flowHistory: h, jobs: map[holdfast.ID]*flowJob{}}
	v.find = func(id holdfast.ID) (store.Record, bool) { r, ok := v.records[id]; return r, ok }
	return v
}

func (v *flowVerifier) wrongf(rule string, job holdfast.ID, format string, args ...any) {
	v.violations = append(v.violations, violation{rule, job, fmt.Sprintf(format, args...)})
}

// verifyFlows compares what was planned and asked for, what was done, and what the database says.
func verifyFlows(h flowHistory) ([]violation, flowFigures) {
	v := newFlowVerifier(h)
	v.gather()
	v.graves()
	v.identities()
	v.keys()
	for _, id := range slices.SortedFunc(maps.Keys(v.jobs), compareIDs) {
		j := v.jobs[id]
		v.count(j)
		v.leases(j)
		v.claims(j)
		v.memory(j)
		v.lines(j)
		v.transactions(j)
		v.compensations(j)
		v.end(j)
		v.finality(j)
		v.audit(j)
		v.messages(j)
		v.children(j)
		v.timers(j)
		v.cancels(j)
		v.pauses(j)
		v.once(j)
		v.rest(j)
		v.words(j)
		v.replies(j)
	}
	return v.violations, v.figures
}

func compareIDs(a, b holdfast.ID) int { return slices.Compare(a[:], b[:]) }

// gather brings together what is known of each job that the database has.
func (v *flowVerifier) gather() {
	for id, record := range v.records {
		j := &flowJob{
			Record: record, journal: v.journals[id],
			ended: map[int64]store.Attempt{}, started: map[int64]placed{}, left: map[int64]bool{},
		}
		for _, a := range record.Attempts {
			if _, twice := j.ended[a.LeaseNumber]; twice {
				v.wrongf(oneOwner, id, "two attempts have lease %d", a.LeaseNumber)
			}
			j.ended[a.LeaseNumber] = a
		}
		if f, ok := v.forks[id]; ok {
			j.fork = &f
		}
		v.args(j)
		v.jobs[id] = j
	}
	v.gatherTraces()
	for _, r := range v.rows {
		j := v.jobs[r.job]
		if j == nil {
			v.wrongf(noLoss, r.job, "has written %+v and is lost", r)
			continue
		}
		j.rows = append(j.rows, r)
	}
}

// gatherTraces gives each job its records of the file, and what was asked about it.
func (v *flowVerifier) gatherTraces() {
	asks := map[int]asked{}
	for at, e := range v.traces {
		j := v.jobs[e.Job]
		switch {
		case e.Event == eventAsk:
			asks[e.Ask] = asked{from: at}
		case e.Event == eventAnswer:
			asks[e.Ask] = asked{from: asks[e.Ask].from, to: at}
		case j == nil:
			v.wrongf(noLoss, e.Job, "ran and is lost")
		default:
			j.traces = append(j.traces, placed{at, e})
		}
	}
	for _, a := range v.asks {
		if j := v.jobs[a.job]; j != nil {
			j.asks = append(j.asks, asked{a, asks[a.number].from, asks[a.number].to})
		}
	}
}

// args checks that a job is what was planned.
func (v *flowVerifier) args(j *flowJob) {
	if err := json.Unmarshal(j.Args, &j.task); err != nil {
		v.wrongf(noLoss, j.ID, "has args %q: %v", j.Args, err)
		return
	}
	planned, ok := v.plan[j.N]
	if planned.Gen, planned.Of = j.Gen, j.Of; !ok || j.Gen > planned.Last || !reflect.DeepEqual(planned, j.task) {
		v.wrongf(noLoss, j.ID, "has args %s, planned were %+v", j.Args, planned)
	}
	if want := j.kind(); j.Kind != want.Name() {
		v.wrongf(noLoss, j.ID, "is of kind %s, planned was %s", j.Kind, want.Name())
	}
}

// taken reports whether the run that an attempt was had its job taken from it.
func (v *flowVerifier) taken(a store.Attempt) bool {
	_, dead := v.deaths[a.Node]
	return a.Reason == store.ReasonNodeLost || a.Reason == store.ReasonCrashLoop || a.Reason == store.ReasonTerminated ||
		a.Reason == store.ReasonCancelled && dead
}
