package cli

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// TestNodeVerbs makes a node quiet, resumes and drains it, on both databases.
func TestNodeVerbs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.serve((&shop{}).register)
		type node struct {
			ID, Name, Host, Mode string
			Mode_by              *string //nolint:revive // of the JSON
			Mode_at              *string //nolint:revive // as above
			Unwell               []string
			Alive                bool
		}
		list := func() (nodes []node) {
			t.Helper()
			s.decode(s.ok("node", "list", "-o", "json"), &nodes)
			return nodes
		}
		until(t, "the node", func() bool { return len(list()) == 1 })
		n := list()[0]
		if n.Mode != "running" || n.Mode_by != nil || n.Mode_at != nil || n.Host == "" || len(n.Unwell) != 0 {
			t.Errorf("a node: %+v", n)
		}
		if out := s.ok("node", "quiet", n.Name, "-o", "table"); out != "node "+n.ID+": quiet\n" {
			t.Errorf("%s", out)
		}
		s.expect(s.run("node", "quiet", "node/"+n.ID), 0) // again
		if n := list()[0]; n.Mode != "quiet" || n.Mode_by == nil || n.Mode_at == nil {
			t.Errorf("a quiet node: %+v", n)
		}
		if out := s.ok("node", "list", "-o", "table"); !strings.Contains(out, ", quiet") {
			t.Errorf("%s", out)
		}
		id := s.enqueue("parcel", "--args", `"ada"`, "--in", "2s") // the node hears of it before
		until(t, "the job's time", func() bool { return s.job(id)["state"] == "available" })
		if why := fmt.Sprint(s.job(id)["why"]); !strings.Contains(why, "quiet_node") {
			t.Errorf("%s", why)
		}
		if out := s.ok("node", "resume", n.ID, "-o", "jsonl"); out != `{"node":"`+n.ID+`","mode":"running","error":null}`+"\n" {
			t.Errorf("%s", out)
		}
		until(t, "the job", func() bool { return s.job(id)["state"] == "completed" })

		s.expect(s.run("node", "quiet", "nobody"), app.ExitError, `no live node has the name nobody; "holdfast node list" lists the nodes`)
		none := strconv.Itoa(1 << 40)
		got := s.run("node", "drain", n.ID, none, "-o", "id")
		s.expect(got, app.ExitError, "no such node: "+none)
		if got.stdout != n.ID+"\n" {
			t.Errorf("%+v", got)
		}
		until(t, "its end", func() bool { return !list()[0].Alive })
		s.expect(s.run("node", "resume", n.ID), app.ExitError, "node "+n.ID+" has ended")
		got = s.run("node", "resume", n.ID, none)
		if got.code != app.ExitError || !strings.Contains(got.stderr, "2 of 2 nodes were not asked") || strings.Count(got.stderr, "\n") != 3 {
			t.Errorf("%+v", got)
		}
	})
}
