package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/meter"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// Sizes are how large the scenarios are.
type Sizes struct {
	Jobs        int     `json:"jobs"`         // to drain
	Seconds     float64 `json:"seconds"`      // of the timed scenarios
	Steady      float64 `json:"steady"`       // seconds of the steady load
	Slots       int     `json:"slots"`        // of a node of ours; 0: the default
	Small       int     `json:"small"`        // backlog
	Large       int     `json:"large"`        // backlog
	History     int     `json:"history"`      // finished jobs
	Finished    int     `json:"finished"`     // jobs that are listed
	Looks       int     `json:"looks"`        // how often each question about them is asked
	Nodes       int     `json:"nodes"`        // against one database
	Children    int     `json:"children"`     // of one parent
	Runs        int     `json:"runs"`         // that wait
	Phase       float64 `json:"phase"`        // seconds before and after the pin
	Pin         float64 `json:"pin"`          // seconds for which it lasts; 0: as long as a phase
	Open        float64 `json:"open"`         // seconds for which long transactions of callers stay open
	IdleWarm    float64 `json:"idle_warm"`    // seconds until a node is called idle
	IdleSeconds float64 `json:"idle_seconds"` // for which it is watched
}

// Scenario is one thing to measure.
type Scenario struct {
	Name  string
	Title string
	// Parts is how many databases it needs.
	Parts int
	// Once says that it takes long and does not vary: one round is enough.
	Once bool
	// Variant says that it differs from another one by a number only. A quick run leaves it out
	// unless it is named.
	Variant bool
	// Stores are those on which it says something; none: all.
	Stores []string
	// Peers are the systems to compare with, by store. That of quick runs comes first.
	Peers map[string][]string

	measure map[string]figures.Measure // by store, or "" for both
	run     func(ctx context.Context, e *Env) (figures.Sample, error)
}

// On tells whether the scenario says something about a store.
func (s Scenario) On(store string) bool {
	return len(s.Stores) == 0 || slices.Contains(s.Stores, store)
}

// MeasureOf is what the scenario is about, on a store.
func (s Scenario) MeasureOf(store string) figures.Measure {
	if m, ok := s.measure[store]; ok {
		return m
	}
	return s.measure[""]
}

// Env is where a scenario runs.
type Env struct {
	System    system.System
	Databases []system.Database
	Sizes     Sizes
	// StartNode starts a node of the system in a process of its own, which waits to be told to go.
	StartNode func(ctx context.Context, db system.Database) (Node, error)
}

// Node is a worker in another process.
type Node interface {
	Go() error
	Done() int64
	Stop(ctx context.Context) (int64, error)
	Close() error
	// Kill ends the process at once, and closes the node.
	Kill() error
}

// Measure runs the scenario once, and returns the settings that mattered besides.
func (s Scenario) Measure(ctx context.Context, e *Env) (figures.Sample, map[string]string, error) {
	if len(e.Databases) != s.Parts {
		return figures.Sample{}, nil, fmt.Errorf("%s needs %d databases, and got %d", s.Name, s.Parts, len(e.Databases))
	}
	m, err := meter.Open(ctx, e.Databases[0])
	if err != nil {
		return figures.Sample{}, nil, err
	}
	settings, err := m.Settings(ctx)
	if err := errors.Join(err, m.Close(ctx)); err != nil {
		return figures.Sample{}, nil, err
	}
	for name, value := range e.System.Settings(e.Databases[0]) {
		settings[e.System.Name()+" "+name] = value
	}
	sample, err := s.run(ctx, e)
	return sample, settings, err
}

// Find returns the scenario of a name.
func Find(name string) (Scenario, error) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, fmt.Errorf("there is no scenario %q", name)
	}
	return all[i], nil
}
