package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// TestLimits: limits are set, shown and deleted, and mistakes are told before a database is opened.
func TestLimits(t *testing.T) {
	s := newShell(t)
	s.ok("migrate", "up")
	s.holds(s.ok("limit", "set", "gpu", "--capacity", "8", "--kind", "train=4", "--kind", "infer", "-o", "table"),
		"limit gpu: 8 slots; queues: all; kinds: infer, train (4 slots)")
	s.expect(s.run("limit", "set", "gpu", "--capacity", "2"), 64, "is not between 1 and the capacity 2")
	s.expect(s.run("limit", "set", "bad", "--capacity", "2", "--kind", "train=4"), 64, "is not between 1 and the capacity 2")
	s.expect(s.run("limit", "set", "other", "--queue", "mail"), 1, "no such limit")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "1", "-o", "table"), "limit queue:mail: 1 slot; queues: mail; kinds: all")
	s.holds(s.ok("limit", "list", "-o", "table"), "queue:mail")
	s.holds(s.ok("limit", "get", "gpu", "-o", "table"), "train (4 slots)")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "none", "-o", "table"), "any number of jobs runs at once")
	s.holds(s.ok("limit", "delete", "gpu", "-o", "table"), "deleted limit gpu")
	s.expect(s.run("limit", "delete", "gpu"), 1, "no such limit")
}

// TestDeletedLimitOfCode: one who deletes a limit that code declares is told that it comes back.
func TestDeletedLimitOfCode(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	limits := []limit.Limit{limit.New("gpu", limit.Capacity(2)), limit.OfQueue("mail", limit.Capacity(1))}
	if _, err := limit.Sync(t.Context(), s.client(), limits...); err != nil {
		t.Fatal(err)
	}
	const note = "Code declares limit %s, which comes back when that starts the next time; to be without it, raise it with " +
		"\"holdfast limit set %[1]s\".\n"
	s.expectNote(s.run("limit", "delete", "gpu"), fmt.Sprintf(note, "gpu"))
	s.expectNote(s.run("queue", "set", "mail", "--max-workers", "none"), fmt.Sprintf(note, "queue:mail"))
	s.ok("limit", "set", "by-hand", "--capacity", "1")
	s.expectNote(s.run("limit", "delete", "by-hand"), "")
}

// TestHeld: how many slots are held is said of limits whose slots nodes hold, and of no others.
func TestHeld(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.ok("limit", "set", "gpu", "--capacity", "8")
	s.ok("limit", "set", "slack", "--rate", "5/s")
	s.ok("limit", "set", "customer", "--per-key", "--capacity", "3")
	s.holds(s.ok("limit", "get", "gpu", "-o", "table"), "held        0\n")
	s.holds(s.ok("limit", "get", "gpu", "-o", "json"), `"held": 0`)
	if out := s.ok("limit", "get", "slack", "-o", "table"); strings.Contains(out, "held") {
		t.Errorf("nodes hold no permits: %s", out)
	}
	s.holds(s.ok("limit", "get", "customer", "-o", "table"), "held        by no node: each claim counts", "holdfast job why ID")
	s.holds(s.ok("limit", "get", "customer", "-o", "json"), `"held": null`)
	out := s.ok("limit", "list", "-o", "table", "--columns", "name,held,wanted")
	for _, row := range []string{"gpu +0 +never", "slack +- +-", "customer +- +-"} {
		if !regexp.MustCompile("(?m)^" + row + "$").MatchString(out) {
			t.Errorf("there is no %q in\n%s", row, out)
		}
	}
}

// TestFairShare: a limit whose slots nodes share evenly is set and shown, and is one no more.
func TestFairShare(t *testing.T) {
	s := newShell(t)
	s.ok("migrate", "up")
	s.holds(s.ok("limit", "set", "gpu", "--capacity", "8", "--fair-share", "-o", "table"),
		"limit gpu: 8 slots, in even parts for each node; queues: all; kinds: all")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "1", "--fair-share", "-o", "table"), "1 slot, in even parts for each node")
	s.holds(s.ok("limit", "get", "gpu", "-o", "table"), "in even parts for each node")
	s.holds(s.ok("limit", "set", "gpu", "--capacity", "9", "-o", "json"), `"fair_share": true`)
	s.holds(s.ok("limit", "set", "gpu", "--fair-share=false", "-o", "json"), `"fair_share": false`)
	s.holds(s.ok("queue", "set", "mail", "--fair-share=false", "-o", "table"), "limit queue:mail: 1 slot; queues")
	s.expect(s.run("limit", "set", "gpu", "--fair-share", "--per-key"), 64, "--fair-share and --per-key cannot be used together")
	s.expect(s.run("limit", "set", "bad", "--fair-share", "--rate", "1/s"), 64, "has no capacity that nodes could share")
	s.expect(s.run("queue", "set", "other", "--fair-share"), 1, "no such limit")
}

// TestQueueSettings: how jobs of a queue are attempted is set, shown with what the handlers of live
// nodes say, and unset.
func TestQueueSettings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.serve((&shop{}).register)
		s.holds(s.ok("queue", "set", "mail", "--max-attempts", "5", "--backoff", "10s,1h", "--timeout", "30s", "-o", "table"),
			"queue mail: max-attempts 5, backoff 10s to 1h0m0s, timeout 30s\n")
		s.holds(s.ok("queue", "list", "-o", "table"), "max-attempts 5, backoff 10s to 1h0m0s, timeout 30s")
		out := s.ok("queue", "get", "mail", "-o", "table")
		s.holds(out, "max-attempts 5, backoff 10s to 1h0m0s, timeout 30s; set ")
		s.holds(out, "5 (queue)")
		s.holds(s.ok("queue", "set", "mail", "--unset", "backoff", "--unset", "timeout", "--heartbeat-timeout", "1m", "-o", "table"),
			"queue mail: max-attempts 5, heartbeat-timeout 1m0s\n")
		var q struct {
			Attempts struct {
				MaxAttempts int    `json:"max_attempts"`
				SetBy       string `json:"set_by"`
				Backoff     any
			}
			Kinds []struct {
				Kind        string
				MaxAttempts views.Effective[int] `json:"max_attempts"`
			}
		}
		s.decode(s.ok("queue", "get", "mail", "-o", "json"), &q)
		if q.Attempts.MaxAttempts != 5 || q.Attempts.Backoff != nil || q.Attempts.SetBy == "" || len(q.Kinds) == 0 ||
			q.Kinds[0].MaxAttempts.Effective != 5 || q.Kinds[0].MaxAttempts.SaidBy != store.ByQueue {
			t.Errorf("the queue is %+v", q)
		}
		s.holds(s.ok("queue", "set", "mail", "--unset", "max-attempts", "--unset", "heartbeat-timeout", "-o", "table"), "nothing is set")
		for wrong, text := range map[string]string{
			"--max-attempts 1001":          "not between 1 and 1000",
			"--max-attempts 0":             "use --unset max-attempts",
			"--backoff 10s,1s":             "the second not below the first",
			"--backoff soon":               "such as 1s,1h",
			"--timeout -1s":                "not positive",
			"--unset retries":              "max-attempts, backoff, timeout, heartbeat-timeout",
			"--timeout 1s --unset timeout": "to be set and to be unset",
			"--timeout 1s --max-workers 3": "two commands",
			"":                             "nothing to set",
		} {
			s.expect(s.run(append([]string{"queue", "set", "mail"}, strings.Fields(wrong)...)...), 64, text)
		}
	})
}

// TestRates: the rate of a limit, of a queue's and of one that no job counts in, is set, shown,
// drained and taken away.
func TestRates(t *testing.T) {
	s := newShell(t)
	s.ok("migrate", "up")
	s.holds(s.ok("limit", "set", "slack", "--rate", "50/s", "--burst", "10", "-o", "table"),
		"limit slack: 50/s, 10 at once; queues: all; kinds: all")
	s.holds(s.ok("limit", "set", "slack", "--capacity", "3", "-o", "table"), "limit slack: 3 slots; 50/s, 10 at once; queues: all")
	s.holds(s.ok("limit", "set", "slack", "--burst", "default", "--no-jobs", "-o", "table"),
		"limit slack: 50/s, 5 at once; queues: none; kinds: none")
	s.holds(s.ok("limit", "list", "-o", "table"), "50/s, 5 at once")
	s.holds(s.ok("limit", "get", "slack", "-o", "json"), `"capacity": null`)
	s.holds(s.ok("limit", "drain", "slack", "--until", "2099-01-01T00:00:00Z", "-o", "table"), "no permit comes before 2099-01-01T00:00:00Z")
	s.holds(s.ok("limit", "get", "slack", "-o", "json"), `"drained_until": "2099-01-01T00:00:00`)
	s.holds(s.ok("limit", "drain", "slack", "--for", "1m", "-o", "table"), "before 2099-01-01T00:00:00Z; an earlier drain lasts longer\n")
	s.holds(s.ok("limit", "resume", "slack", "--reason", "they are well", "-o", "table"),
		"limit slack: permits come again now, not at 2099-01-01T00:00:00Z\n")
	s.holds(s.ok("limit", "resume", "slack", "-o", "table"), "limit slack is not drained\n")
	onRecord := "SELECT group_concat((actor <> '') || ' ' || action || ' ' || detail) FROM holdfast_audit"
	if got := s.text(onRecord); got != "1 resume limit slack: they are well" {
		t.Errorf("on record is %q", got)
	}
	s.ok("limit", "drain", "slack", "--until", "2099-01-01T00:00:00Z")
	if strings.Contains(s.ok("limit", "resume", "slack", "-o", "json"), "2099") {
		t.Error("a limit is drained although that was taken back")
	}
	s.ok("limit", "delete", "slack")
	s.ok("limit", "set", "slack", "--rate", "50/s", "--capacity", "3")
	s.holds(s.ok("limit", "get", "slack", "-o", "json"), `"drained_until": null`)
	s.holds(s.ok("queue", "set", "mail", "--rate", "5/10s", "-o", "table"), "limit queue:mail: 5/10s, 1 at once; queues: mail")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "2", "-o", "table"), "limit queue:mail: 2 slots; 5/10s, 1 at once")
	s.holds(s.ok("queue", "set", "mail", "--max-workers", "none", "-o", "table"), "limit queue:mail: 5/10s, 1 at once")
	s.holds(s.ok("queue", "set", "mail", "--rate", "none", "-o", "table"), "any number of jobs runs at once")
	s.holds(s.ok("limit", "set", "customer", "--per-key", "--rate", "50/min", "--burst", "5", "-o", "table"),
		"limit customer: 50/min, 5 at once, for each key")
	s.holds(s.ok("limit", "set", "customer", "--capacity", "3", "-o", "table"),
		"limit customer: 3 slots for each key; 50/min, 5 at once, for each key")
	s.holds(s.ok("limit", "set", "customer", "--rate", "0/min", "-o", "table"), "limit customer: 3 slots for each key; no job starts")
	s.expect(s.run("limit", "drain", "customer", "--for", "1s"), 64, "has a rate of each key, which only jobs take")
	s.expect(s.run("limit", "resume", "customer"), 64, "has a rate of each key, which only jobs take")
	s.ok("limit", "set", "few", "--capacity", "3")
	s.expect(s.run("limit", "set", "few", "--no-jobs"), 64, "no jobs count in it, so it needs a rate")
	s.expect(s.run("limit", "drain", "few", "--for", "1s"), 64, `"few" in the namespace "default" has no rate`)
	s.expect(s.run("limit", "get", "queue:mail"), 1, "no such limit")
	s.expect(s.run("limit", "drain", "other", "--for", "1s"), 1, "no such limit")
	s.expect(s.run("limit", "resume", "other"), 1, "no such limit")
	for _, wrong := range [][]string{
		{"--rate", "50"},
		{"--rate", "x/s"},
		{"--rate", "-1/s"},
		{"--rate", "1/fortnight"},
		{"--rate", "1/0s"},
		{"--rate", "1000000/s"},
		{"--rate", "1000/s", "--burst", "3"},
		{"--burst", "0"},
		{"--rate", "none", "--burst", "3"},
		{"--capacity", "x"},
	} {
		if got := s.run(append([]string{"limit", "set", "bad"}, wrong...)...); got.code != 64 {
			t.Errorf("limit set %v: %+v", wrong, got)
		}
	}
	for wrong, words := range map[string]string{
		"--no-jobs --capacity 3":                  "--no-jobs needs a rate and goes with no capacity",
		"--no-jobs --capacity 3 --rate 5/s":       "--no-jobs needs a rate and goes with no capacity",
		"--no-jobs --rate none":                   "--no-jobs needs a rate, and --rate is none",
		"--no-jobs=false":                         "--no-jobs=false says not which jobs count; use --all-queues",
		"--per-key=false":                         "nothing to set; use --capacity, --rate, --burst, --fair-share, --per-key, --no-jobs",
		"--capacity 3 --kind x --kind x=2":        "--kind x is given twice",
		"--capacity 3 --kind x --kind y --kind x": "--kind x is given twice",
	} {
		s.expect(s.run(append([]string{"limit", "set", "bad"}, strings.Fields(wrong)...)...), 64, words)
	}
	for _, wrong := range [][]string{
		{"--for", "x"}, {"--until", "tomorrow"}, {"--for", "-1s"}, {}, {"--for", "1s", "--until", "2099-01-01T00:00:00Z"},
	} {
		if got := s.run(append([]string{"limit", "drain", "slack"}, wrong...)...); got.code != 64 {
			t.Errorf("limit drain %v: %+v", wrong, got)
		}
	}
}
