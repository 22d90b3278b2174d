package slots

import "slices"

// Slots of a limit are saved up for a class whose jobs take more of them than those of others, as
// these would take each slot as it becomes free. That begins when it is known that such a job waits
// (Found), and ends when one was claimed, or none is there any more. So one that counts in one
// limit runs, at the latest, when the jobs have ended that the node ran then. Those that save come
// in their order, the first one gets all that it needs, and none saves that needs slots of the same
// limit as one before it: so they do not wait for each other.
//
// A node saves only what it holds: if it may not have as many slots as the job takes, it takes none
// away from others.

// stopSaving has no slots saved up for a class. s.mu is held.
func (s *Slots) stopSaving(c *class) {
	if c.saves {
		c.saves = false
		s.savers = slices.DeleteFunc(s.savers, func(other *class) bool { return other == c })
	}
}
