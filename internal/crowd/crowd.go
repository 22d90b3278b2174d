// Package crowd notes which of a run's strands are in their code, between two operations. By that
// the run knows when a condition over what they share may be looked at, and which of them may go on
// then.
//
// # The promises
//
// A condition is looked at while no strand is in its code, and none comes into it meanwhile. When
// it ends a wait, the strand that waited goes on alone until its next operation: its code sees what
// the condition saw.
//
// # Imports
//
// None of ours. Its methods are called with the lock of the run.
package crowd

// Crowd is the strands of a run. The zero value has none.
type Crowd[S comparable] struct {
	Evaluating bool // a condition is looked at

	coding  int   // strands in their code
	turns   int64 // how often one has come into it
	told    int64 // the turn after which those were told last that wait for a condition
	waiting int   // strands that do
	alone   S     // the one that has waited for a condition and is in its code; zero: none
	held    bool  // others were kept in their operations for it
}

// Code notes that a strand comes into its code.
func (c *Crowd[S]) Code() {
	c.coding++
	c.turns++
}

// Operate notes that a strand leaves its code, and reports whether others are to look again which
// were kept for it.
func (c *Crowd[S]) Operate(s S) (frees bool) {
	c.coding--
	var none S
	if s != c.alone || s == none {
		return false
	}
	frees = c.held
	c.alone, c.held = none, false
	return frees
}

// Alone notes that a strand that has waited for a condition goes on.
func (c *Crowd[S]) Alone(s S) { c.alone = s }

// IsKept reports whether a strand stays in its operation because another one goes on alone.
func (c *Crowd[S]) IsKept(s S) bool {
	var none S
	kept := c.alone != none && c.alone != s
	c.held = c.held || kept
	return kept
}

// IsQuiet reports whether no strand is in its code.
func (c *Crowd[S]) IsQuiet() bool { return c.coding == 0 }

// Wait notes that a strand waits for a condition, until done.
func (c *Crowd[S]) Wait() { c.waiting++ }

// Done ends a Wait.
func (c *Crowd[S]) Done() { c.waiting-- }

// Waits reports whether a strand waits for a condition.
func (c *Crowd[S]) Waits() bool { return c.waiting > 0 }

// HasSettled reports whether those that wait for a condition are to look again: no strand is in its
// code, and one was since they were told last.
func (c *Crowd[S]) HasSettled() bool {
	if c.waiting == 0 || c.coding > 0 || c.told == c.turns {
		return false
	}
	c.told = c.turns
	return true
}
