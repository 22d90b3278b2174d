package slots

// PutAside notes that a caller's transaction blocks an outcome. Its slot is free, but it is kept in
// memory with its result until the transaction ends.
func (s *Slots) PutAside() { s.aside.Add(1) }

// CameBack notes that such an outcome is no longer blocked, and reports whether that resumes
// claiming.
func (s *Slots) CameBack() bool { return s.aside.Add(-1) == s.maxAside-1 }

// Aside is how many outcomes callers' transactions block. If they are too many nothing may be
// claimed.
func (s *Slots) Aside() (n int64, tooMany bool) {
	n = s.aside.Load()
	return n, n >= s.maxAside
}

func (s *Slots) tooManyAside() bool {
	_, tooMany := s.Aside()
	return tooMany
}
