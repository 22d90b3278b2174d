package arg

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

var (
	// States are all states of a job.
	States = []store.State{
		store.Scheduled, store.Available, store.Running, store.Retryable, store.Waiting,
		store.Completed, store.Failed, store.Cancelled,
	}
	// Unfinished are the states of jobs that have not ended.
	Unfinished = States[:5]
	// Finished are the states of jobs that have.
	Finished = States[5:]
)

// StateNames are the names of states on the command line.
func StateNames(states []store.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.String()
	}
	return names
}

// ParseStates parses the states that a flag names.
func ParseStates(flag string, names []string) (states []store.State, err error) {
	for _, name := range names {
		state, err := store.ParseState(name)
		if err != nil {
			return nil, Usagef("--%s %q: must be one of %s", flag, name, strings.Join(StateNames(States), ", "))
		}
		states = append(states, state)
	}
	return states, nil
}
