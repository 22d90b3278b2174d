package logs

import (
	"strconv"
	"testing"
	"time"
)

// TestSeldom: the same text is new once a minute, and texts without end are not remembered.
func TestSeldom(t *testing.T) {
	t.Parallel()
	var s Seldom
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		text  string
		after time.Duration
		want  bool
	}{{"a", 0, true}, {"a", time.Second, false}, {"b", 0, true}, {"a", 58 * time.Second, false}, {"a", time.Second, true}} {
		now = now.Add(step.after)
		if got := s.isNew(step.text, now); got != step.want {
			t.Errorf("%s at %v: %t", step.text, now, got)
		}
	}
	for i := range 5000 {
		s.isNew(strconv.Itoa(i), now)
	}
	if len(s.said) > 1001 {
		t.Errorf("%d texts are remembered", len(s.said))
	}
}
