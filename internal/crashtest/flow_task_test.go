package crashtest

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/holdfastdev/holdfast"
)

// task is what a job of TestFlows is to do: its args. Which of the fields count depends on the
// kind.
type task struct {
	N      int  `json:"n"`                // its place in the plan
	Of     int  `json:"of,omitempty"`     // of a child: the generation of the parent that called it
	Fails  int  `json:"fails,omitempty"`  // up to this attempt it ends with an error
	Stale  bool `json:"stale,omitempty"`  // that error is an ErrLeaseLost, of something else than its run
	Fatal  bool `json:"fatal,omitempty"`  // it ends with a terminal error
	Waits  bool `json:"waits,omitempty"`  // it has no end but being cancelled
	Millis int  `json:"millis,omitempty"` // how long an errand takes
	Talks  bool `json:"talks,omitempty"`  // it says in its metadata and tags how far it is

	// Of errands.
	Once    bool `json:"once,omitempty"` // it is tried once, says its handler
	Snoozes int  `json:"snoozes,omitempty"`

	// Of flows.
	Ops         []op `json:"ops,omitempty"`
	Gen         int  `json:"gen,omitempty"`         // how often it has continued as new
	Last        int  `json:"last,omitempty"`        // the generation in which it ends
	Contradicts bool `json:"contradicts,omitempty"` // no run of it fits the journal of another one
	Listens     bool `json:"listens,omitempty"`     // it handles requests
	Trips       bool `json:"trips,omitempty"`       // its second attempt fails before it is where the first one was
}

// op is a part of a flow. Each leaves one step of its own name, which comes last; but strands do
// not.
type op struct {
	Do     opKind `json:"do"`
	ID     int    `json:"id"` // its number in the flow
	Millis int    `json:"millis,omitempty"`
	Slow   bool   `json:"slow,omitempty"`   // what undoes it sleeps, too
	Says   bool   `json:"says,omitempty"`   // the flow says that it comes next, and what undoes it does, too
	Within bool   `json:"within,omitempty"` // the function of its step says so
	Child  *task  `json:"child,omitempty"`  // whom it calls
	Count  int    `json:"count,omitempty"`  // how many of them
	Left   []op   `json:"left,omitempty"`
	Right  []op   `json:"right,omitempty"`
}

type opKind string

// The kinds of operations.
const (
	opStep    opKind = "step"
	opFlaky   opKind = "flaky"   // a step whose function fails now and then
	opBroken  opKind = "broken"  // a step that always fails, and whose failure the flow goes on from
	opCharge  opKind = "charge"  // a step that is to be undone
	opRow     opKind = "row"     // a StepTx
	opSleep   opKind = "sleep"   // a sleep, and a step
	opSignal  opKind = "signal"  // a wait for a signal, and a step that says which came
	opHurry   opKind = "hurry"   // the same, with a time limit
	opRace    opKind = "race"    // the same, against a timer
	opPledge  opKind = "pledge"  // a wait for a signal, whose arrival is to be undone, and a step
	opChild   opKind = "child"   // a child, and a step that says what it answered
	opFan     opKind = "fan"     // several, and one step
	opStrands opKind = "strands" // two strands
)

// name is that of the step.
func (o op) name() string { return fmt.Sprintf("%s %d", o.Do, o.ID) }

// undo is the name of the compensation of a charge or a pledge, and of its step.
func (o op) undo() string { return undoing + o.name() }

const undoing = "undo "

// leaves are the operations of a flow without the strands that hold them.
func leaves(ops []op) (all []op) {
	for _, o := range ops {
		if o.Do == opStrands {
			all = append(append(all, leaves(o.Left)...), leaves(o.Right)...)
		} else {
			all = append(all, o)
		}
	}
	return all
}

// places returns the path of the first entry that each operation leaves, by its name. The prefix is
// that of the strand.
func places(ops []op, prefix string) map[string]string {
	paths := map[string]string{}
	place := 1
	for _, o := range ops {
		paths[o.name()] = prefix + strconv.Itoa(place)
		switch o.Do {
		case opStrands:
			maps.Copy(paths, places(o.Left, fmt.Sprintf("%s%d.", prefix, place)))
			maps.Copy(paths, places(o.Right, fmt.Sprintf("%s%d.", prefix, place+1)))
			place += 2
		case opRace:
			place += 3 // the timer, the choice, the step
		case opSleep, opSignal, opHurry, opPledge, opChild, opFan:
			place += 2
		default:
			place++
		}
	}
	return paths
}

// signals is how many signals a generation of a flow may receive.
func (t *task) signals() (n int) {
	for _, o := range leaves(t.Ops) {
		switch o.Do {
		case opSignal, opHurry, opRace, opPledge:
			n++
		default:
		}
	}
	return n
}

// neverEnds reports whether the task, or a child that it waits for, has no end but being cancelled.
func (t *task) neverEnds() bool {
	for _, o := range leaves(t.Ops) {
		if o.Child != nil && o.Child.neverEnds() {
			return true
		}
	}
	return t.Waits || t.Contradicts
}

// The kinds of jobs. A flow is durable, errands are not.
var (
	flowKind   = holdfast.NewKind[task, done]("flow", holdfast.MaxAttempts(1000), holdfast.Backoff(backoffBase, backoffCap))
	errandKind = holdfast.NewKind[task, done]("errand", holdfast.MaxAttempts(1000), holdfast.Backoff(backoffBase, backoffCap))
	onceKind   = holdfast.NewKind[task, done]("once")
)

func (t *task) kind() holdfast.Kind[task, done] {
	switch {
	case t.Once:
		return onceKind
	case t.Ops != nil || t.Contradicts:
		return flowKind
	}
	return errandKind
}

// key is what a signal says: the number of the key under which it was sent.
type key struct {
	Number int `json:"number"`
}

// neverSent is a signal that nobody sends.
var neverSent = holdfast.NewSignal[key]("never")

// noteOf is the signal that a generation of a flow waits for. A key is forgotten when the flow
// continues as new, so that what is sent again must be told from what the next generation waits
// for.
func noteOf(gen int) holdfast.Signal[key] {
	return holdfast.NewSignal[key](fmt.Sprintf("note.%d", gen))
}
