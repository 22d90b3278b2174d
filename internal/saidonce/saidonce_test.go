package saidonce_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/saidonce"
)

func TestTwice(t *testing.T) {
	t.Parallel()
	const id = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"
	for text, want := range map[string]string{
		"": "",
		"getting job " + id + ": holdfast: not found: job " + id:                   id,
		"holdfast: job " + id + " failed: holdfast: invalid request: x":            "holdfast: ",
		`kind "a": holdfast: invalid request: kind "a" has a handler`:              `kind "a"`,
		`kind "a": holdfast: invalid request: kind "b" has a handler`:              "",
		"timed out after 5s: timed out: no heartbeat":                              "",
		"conflict: the key is taken: conflict: again":                              "conflict:",
		`job ` + id + ` has no step; "holdfast job journal ` + id + `" lists them`: "",
		"the job has no attempts left; the job has no attempts":                    "the job has no",
		"holdfast: not found: job " + id + "; ask for another one instead":         "",
	} {
		if got := saidonce.Twice(text); got != want {
			t.Errorf("%q says %q twice, and not %q", text, got, want)
		}
	}
}
