package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestStats: what a node has counted and measured is shown when it has stopped; before one has run,
// what is missing is said.
func TestStats(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		for _, verb := range []string{"jobs", "nodes", "database"} {
			if text := s.run("stats", verb, "-o", "table"); !strings.Contains(text.stderr, "heartbeats") || text.code != 0 {
				t.Errorf("stats %s of nothing: %+v", verb, text)
			}
			if out := s.ok("stats", verb, "-o", "json"); strings.TrimSpace(out) != "[]" {
				t.Errorf("stats %s of nothing: %s", verb, out)
			}
		}
		greet := holdfast.NewKind[string, string]("greet")
		hf := s.client()
		if err := greet.Handle(hf, func(_ *holdfast.Run, name string) (string, error) { return name, nil }); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.ok("job", "enqueue", "greet", "--args", `"x"`, "--wait", "-q")
		}
		if err := hf.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		var points []struct {
			Queue, Kind        string
			Started, Completed int
			Run                struct {
				Count int
				P99   float64 `json:"p99_seconds"`
			}
		}
		if err := json.Unmarshal([]byte(s.ok("stats", "jobs", "-o", "json")), &points); err != nil { //nolint:musttag // only for the test
			t.Fatal(err)
		}
		if len(points) != 1 || points[0].Kind != "greet" || points[0].Started != 3 || points[0].Completed != 3 || points[0].Run.Count != 3 {
			t.Errorf("%+v", points)
		}
		table := s.ok("stats", "jobs", "-o", "table", "--by", "queue", "--step", "1h", "--since", "2h")
		if !strings.Contains(table, "default") || strings.Contains(table, "greet") {
			t.Errorf("the table:\n%s", table)
		}
		if out := s.ok("stats", "jobs", "-o", "json", "--kind", "other"); strings.TrimSpace(out) != "[]" {
			t.Errorf("of another kind: %s", out)
		}
		if out := s.ok("stats", "nodes", "-o", "json"); !strings.Contains(out, `"goroutines"`) {
			t.Errorf("nodes: %s", out)
		}
		for args, want := range map[string]string{
			"jobs --by x":                      "none of queue, kind, both and none",
			"jobs --step 30s":                  "it has to be whole minutes",
			"nodes --step 30s":                 "it has to be whole minutes",
			"jobs --step 1m --since 4d":        "use a step of 1h",
			"jobs --since 1h --before 2h":      "it has to begin before it ends",
			"jobs --since x":                   "--since",
			"jobs --before x":                  "--before",
			"database --step 1h --since 9999d": "use a longer step",
		} {
			s.expect(s.run(append([]string{"stats"}, strings.Fields(args)...)...), 64, want)
		}
	})
}
