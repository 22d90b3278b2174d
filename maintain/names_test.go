package maintain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/maintain"
)

// TestDutiesHaveOneName: what package maintain calls a duty is the first word of what the log, the
// metrics and the spans call its parts.
func TestDutiesHaveOneName(t *testing.T) {
	var parts, duties []string
	for _, name := range duty.Maintenance {
		word, _, _ := strings.Cut(name, " ")
		if !slices.Contains(parts, word) {
			parts = append(parts, word)
		}
	}
	for d := maintain.Rescue; d <= maintain.Retain; d++ {
		duties = append(duties, d.String())
	}
	if !slices.Equal(parts, duties) {
		t.Errorf("nodes do %v, and maintain %v", parts, duties)
	}
}
