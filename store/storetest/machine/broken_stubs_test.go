package machine

import (
	"context"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestTheMachineNoticesStubs breaks what archived jobs leave.
func TestTheMachineNoticesStubs(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*store.EndedJob){
		"no stub is left":          func(j *store.EndedJob) { j.Archived = "" },
		"each job leaves a stub":   func(j *store.EndedJob) { j.Archived += "x" },
		"a stub names another one": func(j *store.EndedJob) { j.Archived += map[bool]string{true: "x"}[j.Archived != ""] },
	} {
		notices(t, name, func(s store.Store) store.Store { return &stubsOther{s, change} }, mode{})
	}
}

// stubsOther removes other jobs than it is given.
type stubsOther struct {
	store.Store

	change func(*store.EndedJob)
}

func (s *stubsOther) RemoveExpired(ctx context.Context, jobs []store.EndedJob) (int, error) {
	other := slices.Clone(jobs)
	for i := range other {
		s.change(&other[i])
	}
	return s.Store.RemoveExpired(ctx, other)
}
