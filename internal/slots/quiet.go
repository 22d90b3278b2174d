package slots

import "github.com/holdfastdev/holdfast/store"

// SetQuiet makes the slots quiet, or ends that. While they are quiet nothing may be claimed, and no
// job gets a slot: those that come all the same wait in the buffer. It returns the jobs in the
// buffer, which are given back: those that may not start, or those that no slot will be passed on
// to.
func (s *Slots) SetQuiet(quiet bool) []store.Claimed {
	s.mu.Lock()
	s.quiet = quiet
	s.mu.Unlock()
	return s.TakeBuffer()
}

// TakeRefused returns the jobs that have come while the slots are quiet.
func (s *Slots) TakeRefused() []store.Claimed {
	return s.takeWaiting(func(*store.Claimed) bool { return s.quiet })
}
