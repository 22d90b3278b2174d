package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Step is one step of a simulation: who does something, a number from which all choices in it
// follow, and what goes wrong with the call. A list of steps can be replayed, and so can any part
// of it.
type Step struct {
	Do    Op
	Seed  uint64
	Fault faults.Kind
}

// Op is what a step does.
type Op uint8

// What steps do. The names are what is written to a file of traces.
const (
	OpJoin Op = iota
	OpBeat
	OpClaim
	OpBatch
	OpAppend
	OpPark
	OpEnd
	OpRepeat
	OpLate
	OpAudit
	OpLeave
	OpFreeze
	OpThaw
	OpKill
	OpLead
	OpRescue
	OpPromote
	OpSweep
	OpClose
	OpRetain
	OpSignal
	OpCallback
	OpEnqueue
	OpCancel
	OpTerminate
	OpPauseJob
	OpResume
	OpRetry
	OpFork
	OpPauseQueue
	OpResumeQueue
	OpForward
	OpBack
	OpSchedule
	OpLookUp
	OpFire
	OpTrigger
	OpJump
	ops
)

var opNames = [ops]string{
	"join", "beat", "claim", "batch", "append", "park", "end", "repeat", "late", "audit", "leave", "freeze", "thaw", "kill",
	"lead", "rescue", "promote", "sweep", "close", "retain", "signal", "callback", "enqueue", "cancel", "terminate", "pause-job",
	"resume", "retry", "fork", "pause-queue", "resume-queue", "forward", "back", "schedule",
	"look-up", "fire", "trigger", "jump",
}

// weights is how often of a thousand or so a step does that.
var weights = [ops]int{
	OpJoin: 12, OpBeat: 45, OpClaim: 130, OpBatch: 60, OpAppend: 110, OpPark: 60, OpEnd: 120, OpRepeat: 40, OpLate: 35, OpAudit: 12,
	OpLeave: 5, OpFreeze: 14, OpThaw: 16, OpKill: 4,
	OpLead: 30, OpRescue: 25, OpPromote: 60, OpSweep: 8, OpClose: 20, OpRetain: 15, OpSignal: 40, OpCallback: 20, OpEnqueue: 90,
	OpCancel: 16, OpTerminate: 7, OpPauseJob: 14, OpResume: 25, OpRetry: 16, OpFork: 5, OpPauseQueue: 5, OpResumeQueue: 12,
	OpForward: 60, OpBack: 8,
}

// scheduleWeights is how often it does that where there are schedules.
var scheduleWeights = [ops]int{OpSchedule: 50, OpLookUp: 100, OpFire: 200, OpTrigger: 30, OpJump: 12, OpLead: 60, OpForward: 60}

// faultyPercent is how many calls go wrong.
const faultyPercent = 15

// Draw makes steps out of a seed.
func Draw(seed uint64, n int) []Step { return drawn(seed, n, weights) }

// DrawScheduled makes steps of which many are about schedules.
func DrawScheduled(seed uint64, n int) []Step {
	both := weights
	for op, w := range scheduleWeights {
		both[op] += w
	}
	return drawn(seed, n, both)
}

func drawn(seed uint64, n int, weights [ops]int) []Step {
	random := rand.New(rand.NewPCG(seed, 1))
	total := 0
	for _, w := range weights {
		total += w
	}
	steps := make([]Step, n)
	for i := range steps {
		at, op := random.IntN(total), Op(0)
		for at >= weights[op] {
			at -= weights[op]
			op++
		}
		steps[i] = Step{Do: op, Seed: random.Uint64()}
		if random.IntN(100) < faultyPercent {
			steps[i].Fault = [...]faults.Kind{faults.FailBefore, faults.FailAfter, faults.FailAfter, faults.Duplicate}[random.IntN(4)]
		}
	}
	return steps
}

var faultNames = [...]string{"", "unsent", "unanswered", "twice"}

// String writes a step as ParseSteps reads it.
func (s Step) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %016x %s", opNames[s.Do], s.Seed, faultNames[s.Fault]), " ")
}

// ParseSteps reads steps, one on each line. What follows a # is left out.
func ParseSteps(text string) ([]Step, error) {
	var steps []Step
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var s Step
		op := slices.Index(opNames[:], words[0])
		if op < 0 || len(words) < 2 {
			return nil, fmt.Errorf("not a step: %q", line)
		}
		s.Do = Op(op)
		if _, err := fmt.Sscanf(words[1], "%x", &s.Seed); err != nil {
			return nil, fmt.Errorf("the number of the step %q: %w", line, err)
		}
		if len(words) > 2 {
			fault := slices.Index(faultNames[:], words[2])
			if fault < 0 {
				return nil, fmt.Errorf("no such fault: %q", line)
			}
			s.Fault = faults.Kind(fault)
		}
		steps = append(steps, s)
	}
	return steps, nil
}
