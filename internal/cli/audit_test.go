package cli

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestAudit: what people did is listed with what was before and after, by what is asked for.
func TestAudit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(_ *testing.T, s *shell) {
		s.ok("limit", "set", "partner", "--capacity", "5")
		s.ok("limit", "set", "partner", "--capacity", "6")
		s.ok("limit", "set", "partner", "--capacity", "6")
		s.ok("queue", "pause", "mail", "--namespace", "shop")
		id := s.enqueue("send")
		s.ok("job", "cancel", id, "--reason", "twice")

		table := s.ok("audit", "list", "--target", "limit/partner", "-o", "table")
		lines := strings.Split(strings.TrimSpace(table), "\n")
		if len(lines) != 3 || !strings.Contains(lines[1], "update") || !strings.Contains(lines[1], "capacity: 5 → 6") ||
			!strings.Contains(lines[2], "create") || !strings.Contains(lines[2], "capacity: 5") {
			s.Errorf("the limit: %s", table)
		}
		type entry struct {
			ID, Action, Actor, Namespace, Detail string
			Target                               struct{ Kind, Name string }
			Before, After                        map[string]any
		}
		var all []entry
		for args, want := range map[string]string{
			"--in shop":                     "pause queue mail",
			"--job " + id:                   "cancel job " + id,
			"--target queue --action pause": "pause queue mail",
			"--limit 1":                     "cancel job " + id,
			"--since 1h --action cancel":    "cancel job " + id,
			"--until 1h":                    "",
			"--actor eve":                   "",
		} {
			s.decode(s.ok(append(strings.Fields("audit list -o json"), strings.Fields(args)...)...), &all)
			var is []string
			for _, e := range all {
				is = append(is, e.Action+" "+e.Target.Kind+" "+e.Target.Name)
				if e.Actor == "" || e.ID == "" {
					s.Errorf("%s: %+v", args, e)
				}
			}
			if strings.Join(is, ", ") != want {
				s.Errorf("%s lists %q, not %q", args, is, want)
			}
		}
		for args, words := range map[string]string{
			"--limit 0":                          "at least 1",
			"--target shop":                      "there is no kind",
			"--since yesterday":                  "--since",
			"--since 1h --until 2h":              "no entry fits both",
			"--job 7":                            "--job",
			"--target limit/partner --job " + id: "goes without --target",
		} {
			s.expect(s.run(append([]string{"audit", "list"}, strings.Fields(args)...)...), app.ExitUsage, words)
		}
	})
}
