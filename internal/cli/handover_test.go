//go:build soak

package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// handsOver registers a kind that hands its jobs over; those with an amount are undone if they
// fail.
func handsOver(client *holdfast.Client) error {
	return holdfast.NewKind[int, any]("pay").Handle(client, func(run *holdfast.Run, amount int) (any, error) {
		if amount > 0 {
			if err := run.OnFailure("refund", func(run *holdfast.Run) error { return run.Publish("refunded", amount) }); err != nil {
				return nil, err
			}
		}
		return nil, holdfast.HandOver(time.Hour)
	})
}

// TestHandedOver finishes jobs that were handed over, on the command line.
func TestHandedOver(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		s.serve(handsOver)
		first := s.enqueue("pay", "0")
		s.waits(first, "its completion from outside")
		s.holds(s.ok("job", "get", first, "-o", "table"), "its completion from outside", "handed over for ", "its handler is called again at ")
		s.holds(s.ok("job", "get", first, "-o", "jsonl"), `"handed_over":true`, `"code":"handed_over"`)
		if found, _ := s.complete("job", "complete", ""); !slices.Equal(found, []string{first}) {
			t.Errorf("completions: %q", found)
		}
		s.expect(s.run("job", "complete", first, "{"), app.ExitUsage, "RESULT")
		s.holds(s.feed(`{"paid":true}`, "job", "complete", first, "-", "-o", "table").stdout, "job "+first+" is completed")
		s.holds(s.ok("job", "get", first, "-o", "jsonl"), `{"paid":true}`, `"action":"complete"`)
		s.expect(s.run("job", "complete", first), app.ExitError, "it is completed")
		s.expect(s.run("job", "fail", first, "no"), app.ExitError, "it is completed")

		second := s.enqueue("pay", "0")
		s.waits(second, "its completion from outside")
		s.expect(s.run("job", "fail", second), app.ExitUsage, "MESSAGE")
		s.expect(s.run("job", "fail", second, ""), app.ExitUsage, "MESSAGE")
		s.holds(s.ok("job", "fail", second, "card refused", "-o", "jsonl"), `"state":"failed"`)
		s.holds(s.ok("job", "get", second), "card refused", "terminal")

		third := s.enqueue("pay", "7")
		s.waits(third, "its completion from outside")
		s.ok("job", "fail", third, "card refused")
		if out := s.run("job", "wait", third); out.code == 0 {
			t.Errorf("it has not failed: %s", out.stdout)
		}
		s.holds(s.ok("job", "get", third), "card refused")
		s.holds(s.ok("job", "published", third, "refunded"), "7")
		s.expect(s.run("job", "complete", holdfast.NewID().String()), app.ExitError, "there is no such job")
	})
}
