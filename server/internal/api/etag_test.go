package api_test

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// TestIfMatch: a change names the version that is there, one of several, or any.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	is, was := api.ETag("a", 1), api.ETag("a", 2)
	if is == was || is != api.ETag("a", 1) {
		t.Fatalf("versions: %s %s", is, was)
	}
	for header, want := range map[string]problem.Code{
		"": problem.NeedsVersion, " ": problem.NeedsVersion, "*": "", is: "", was: problem.Changed, was + ", " + is: "", "W/" + is: problem.Changed,
		is[1 : len(is)-1]: problem.Changed,
	} {
		in := api.IfMatch{Versions: header}
		err := in.Matches(is)
		p, _ := errors.AsType[*problem.Problem](err)
		if want == "" && err != nil || want != "" && (p == nil || p.Code != want) {
			t.Errorf("%q: %v, not %q", header, err, want)
		}
	}
}
