package logs

import (
	"sync"
	"time"
)

// seldomEvery is how often the same text is new to a Seldom.
const seldomEvery = time.Minute

// Seldom tells which texts were not logged in the last minute. The zero value knows none.
type Seldom struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// IsNew reports whether to log a text now, and takes it as logged then.
func (s *Seldom) IsNew(text string) bool { return s.isNew(text, time.Now()) } //nolint:forbidigo // a duration, not the time of day

func (s *Seldom) isNew(text string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last, known := s.said[text]; known && now.Sub(last) < seldomEvery {
		return false
	}
	if s.said == nil || len(s.said) > 1000 { // texts come from the database
		s.said = map[string]time.Time{}
	}
	s.said[text] = now
	return true
}
