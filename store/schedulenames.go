package store

import (
	"fmt"
	"slices"
)

// The names of what a schedule says and does, by their numbers, as users see them everywhere.
var (
	overlapNames  = []string{"skip", "allow", "buffer-one", "buffer-all", "cancel-other", "terminate-other"}
	missedNames   = []string{"coalesce", "catch-up", "skip"}
	runStateNames = []string{1: "fired", "skipped", "missed"}
)

// OverlapNames lists the overlap policies.
func OverlapNames() []string { return slices.Clone(overlapNames) }

// MissedNames lists the policies for missed times.
func MissedNames() []string { return slices.Clone(missedNames) }

func (o Overlap) String() string { return nameOf(overlapNames, uint8(o), "overlap") }

func (m Missed) String() string { return nameOf(missedNames, uint8(m), "missed") }

func (s RunState) String() string { return nameOf(runStateNames, uint8(s), "run") }

func nameOf(names []string, n uint8, what string) string {
	if int(n) < len(names) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s(%d)", what, n)
}

// ParseOverlap is the inverse of Overlap.String. The error is ErrInvalid.
func ParseOverlap(name string) (Overlap, error) {
	if i := slices.Index(overlapNames, name); i >= 0 {
		return Overlap(i), nil
	}
	return 0, fmt.Errorf("%w: unknown overlap policy %q", ErrInvalid, name)
}

// ParseMissed is the inverse of Missed.String. The error is ErrInvalid.
func ParseMissed(name string) (Missed, error) {
	if i := slices.Index(missedNames, name); i >= 0 {
		return Missed(i), nil
	}
	return 0, fmt.Errorf("%w: unknown policy for missed times %q", ErrInvalid, name)
}
