//go:build soak

package workers_test

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestLargeJobs: a poll answers about 16 MiB, and what it has claimed beyond that is claimed again
// at once, as its first attempt.
func TestLargeJobs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, `{"name":"w","kinds":["large"],"slots":40}`)
		args := strings.Repeat("x", 1_000_000)
		for range 30 {
			s.Enqueue(job{"kind": "large", "args": args})
		}
		var got []job
		for len(got) < 30 {
			jobs := w.poll(30-len(got), "1m")
			if len(jobs) == 0 || len(jobs) > 17 {
				s.Fatalf("a poll got %d jobs", len(jobs))
			}
			got = append(got, jobs...)
		}
		for _, j := range got {
			if j["attempt"] != 1.0 || text(j, "args") != args {
				s.Errorf("%s comes as attempt %v", text(j, "id"), j["attempt"])
			}
			other.OK(200, post, run(j, "complete"), `{}`)
		}
	})
}
