package store

import (
	"fmt"
	"slices"
	"strings"
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

// numberOf is the inverse of nameOf. The error is an ErrInvalid, and lists the names.
func numberOf[T ~uint8](names []string, name, what string) (T, error) {
	if i := slices.Index(names, name); i >= 0 && name != "" {
		return T(i), nil
	}
	known := strings.Join(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" }), ", ")
	return 0, fmt.Errorf("%w: unknown %s %.60q; it is one of %s", ErrInvalid, what, name, known)
}

// ParseOverlap is the inverse of Overlap.String. The error is ErrInvalid.
func ParseOverlap(name string) (Overlap, error) {
	return numberOf[Overlap](overlapNames, name, "overlap policy")
}

// ParseMissed is the inverse of Missed.String. The error is ErrInvalid.
func ParseMissed(name string) (Missed, error) {
	return numberOf[Missed](missedNames, name, "policy for missed times")
}
