package play

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Step is what is done: an operation, a number from which all its choices follow, and a fault. A
// list of steps can be replayed, and so can any part of it.
type Step struct {
	Do    string
	Seed  uint64
	Fault faults.Kind // of the first call of the step
}

// Weight is how often an operation is drawn.
type Weight struct {
	Do string
	N  int
}

// faultyPercent is how many steps have a fault.
const faultyPercent = 15

// Draw makes steps out of a seed.
func Draw(weights []Weight, seed uint64, n int) []Step {
	random := rand.New(rand.NewPCG(seed, 1))
	total := 0
	for _, w := range weights {
		total += w.N
	}
	steps := make([]Step, n)
	for i := range steps {
		at, op := random.IntN(total), 0
		for at >= weights[op].N {
			at -= weights[op].N
			op++
		}
		steps[i] = Step{Do: weights[op].Do, Seed: random.Uint64()}
		if random.IntN(100) < faultyPercent {
			steps[i].Fault = [...]faults.Kind{faults.FailBefore, faults.FailAfter, faults.FailAfter, faults.Duplicate}[random.IntN(4)]
		}
	}
	return steps
}

var faultNames = [...]string{"", "unsent", "unanswered", "twice"}

// String writes a step as ParseSteps reads it.
func (s Step) String() string {
	return strings.TrimRight(fmt.Sprintf("%s %016x %s", s.Do, s.Seed, faultNames[s.Fault]), " ")
}

// ParseSteps reads steps, one on each line. What follows a # is left out.
func ParseSteps(text string) (steps []Step, err error) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := append(strings.Fields(line), "", "")
		if words[0] == "" {
			continue
		}
		s := Step{Do: words[0]}
		if _, err := fmt.Sscanf(words[1], "%x", &s.Seed); err != nil {
			return nil, fmt.Errorf("the number of the step %q: %w", line, err)
		}
		fault := slices.Index(faultNames[:], words[2])
		if fault < 0 {
			return nil, fmt.Errorf("no such fault: %q", line)
		}
		s.Fault = faults.Kind(fault)
		steps = append(steps, s)
	}
	return steps, nil
}

// World is what steps change.
type World interface {
	// Take takes a step.
	Take(s Step)
	// Calm lets everything come to its end, without faults, and looks at what came of it.
	Calm()
	// Last is the last call of the store, and Calls is how many there were.
	Last() string
	Calls() int
	// Digest stands for all that was seen.
	Digest() uint64
	Close() error
}

// Tell is told what happens.
type Tell func(format string, args ...any)

// Game is a world that can be played again and again.
type Game struct {
	Weights []Weight
	Begin   func(tell Tell) (World, error)
	// Shrinking is how many steps may be replayed to find out which of those that failed are
	// needed.
	Shrinking int
}

// Report is what came of a replay.
type Report struct {
	Steps, Calls int
	Digest       uint64
	Failure      *Failure
}

// Replay takes steps in a world of their own. tell may be nil. An error is one of beginning or of
// closing it.
func (g *Game) Replay(steps []Step, tell Tell) (report Report, err error) {
	if tell == nil {
		tell = func(string, ...any) {}
	}
	w, err := g.Begin(tell)
	if err != nil {
		return report, err
	}
	defer func() {
		if closing := w.Close(); err == nil {
			err = closing
		}
	}()
	at := 0
	defer func() {
		report.Calls, report.Digest = w.Calls(), w.Digest()
		if thrown := recover(); thrown != nil {
			report.Failure = FailureOf(thrown, at, w.Last())
		}
	}()
	for ; at < len(steps); at++ {
		tell("%4d  %v", at, steps[at])
		w.Take(steps[at])
		report.Steps++
	}
	w.Calm()
	return report, nil
}

// Hunt replays the steps of a seed, and if an invariant does not hold returns the few of them that
// are needed for it, and the story that they tell.
func (g *Game) Hunt(seed uint64, n int) (Report, *Find, error) {
	steps := Draw(g.Weights, seed, n)
	report, err := g.Replay(steps, nil)
	if err != nil || report.Failure == nil {
		return report, nil, err
	}
	find := &Find{Seed: seed, N: n, Failure: *report.Failure}
	find.Steps = Shrink(steps[:min(n, report.Failure.At+1)], g.Shrinking, func(some []Step) bool {
		again, err := g.Replay(some, nil)
		return err == nil && again.Failure != nil && again.Failure.Invariant == report.Failure.Invariant
	})
	var story strings.Builder
	last, err := g.Replay(find.Steps, func(format string, args ...any) { fmt.Fprintf(&story, format+"\n", args...) })
	if last.Failure != nil {
		find.Failure = *last.Failure
	}
	find.Story = story.String()
	return report, find, err
}

// Find is a failure with the steps that are needed for it.
type Find struct {
	Failure

	Seed  uint64
	N     int // how many steps of the seed were replayed
	Steps []Step
	Story string
}

// String says what there is to know of a failure, so that it can be replayed.
func (f *Find) String() string {
	var trace strings.Builder
	for _, step := range f.Steps {
		fmt.Fprintln(&trace, step)
	}
	return fmt.Sprintf("%s: after %s: %s\nseed %d, %d steps; of them are needed:\n%s\nThe story:\n%s%s",
		f.Invariant, f.Call, f.Text, f.Seed, f.N, trace.String(), f.Story, f.Stack)
}
