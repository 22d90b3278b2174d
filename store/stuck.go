package store

import (
	"fmt"
	"time"
)

const (
	// MaxStuckLook is the most keys that one call of StuckKeys looks at.
	MaxStuckLook = 1000
	// StuckBound is how many jobs behind a stuck key are counted.
	StuckBound = 1000
)

// StuckKeysParams asks for the stuck ordering keys of a queue.
type StuckKeysParams struct {
	Namespace, Queue string
	After            string // a Next; "": from the beginning
	// Look is how many keys are looked at that a job has the turn of, stuck or not; 0:
	// MaxStuckLook, which is the most.
	Look int
}

// StuckKey is an ordering key whose turn a job keeps that has failed (Options.KeepTurn), so that
// those behind it wait for a person.
type StuckKey struct {
	Key    string
	Job    ID        // which keeps the turn
	Since  time.Time // when it failed
	Reason Reason    // of its failure
	// Waiting are the available jobs behind it, up to StuckBound. Those that are scheduled, or wait
	// for something else, join them when their time has come.
	Waiting Count
}

// StuckPage is a part of the stuck keys of a queue.
type StuckPage struct {
	Keys []StuckKey // may be none although others follow
	Next string     // the After of the next part; "" at the end
}

// Check reports why no store takes the call, an ErrInvalid, and sets Look if it is 0.
func (p *StuckKeysParams) Check() error {
	if p.Look == 0 {
		p.Look = MaxStuckLook
	}
	if p.Look < 0 || p.Look > MaxStuckLook {
		return fmt.Errorf("%w: %d keys are to be looked at, which is not between 1 and %d", ErrInvalid, p.Look, MaxStuckLook)
	}
	return nil
}

// Add takes in a key that was looked at, the next in order; a nil one is not stuck.
func (p *StuckPage) Add(key string, stuck *StuckKey) {
	if p.Next = key; stuck != nil {
		p.Keys = append(p.Keys, *stuck)
	}
}

// End ends a page for which so many keys were looked at.
func (p *StuckPage) End(params *StuckKeysParams, looked int) {
	if looked < params.Look {
		p.Next = ""
	}
}
