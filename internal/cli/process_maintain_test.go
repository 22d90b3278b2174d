//go:build soak && unix

package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestMaintainAfterAKill: the only node, which leads, is killed in the middle of a job. On
// PostgreSQL one look is too short to tell that it is dead; one that watches rescues the job.
func TestMaintainAfterAKill(t *testing.T) {
	t.Parallel()
	databases := map[string]func(t *testing.T, dir string) string{
		"sqlite":   func(_ *testing.T, dir string) string { return filepath.Join(dir, "h.db") },
		"postgres": func(t *testing.T, _ string) string { t.Helper(); return pgtest.Shared(t).Database(t) },
	}
	for name, of := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			database := of(t, dir)
			node := startNode(t, dir, exec.Command(binary(t),
				"worker", "--allow-exec", "--database", database, "--beat", "250ms", "--dead-after", "1s"))
			began := filepath.Join(dir, "began")
			got := command(t, dir, "job", "enqueue", "exec", "--database", database, "-o", "id",
				"--args", scriptArgs("touch "+began+"; exec sleep 60"))
			s := &shell{T: t}
			s.expect(got, 0)
			id := strings.TrimSpace(got.stdout)
			until(t, "the job's start", exists(began))
			if err := node.cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = node.cmd.Wait()
			var m maintained
			s.decode(s.expect(command(t, dir, "maintain", "rescue", "--database", database, "-o", "json"), 0), &m)
			if m.Rescued != 1 || m.Doubtful_nodes != 0 || m.More {
				t.Errorf("%+v", m)
			}
			var job struct{ State string }
			s.decode(s.expect(command(t, dir, "job", "get", id, "--database", database, "-o", "json"), 0), &job)
			if job.State == "running" {
				t.Error("the job is still on the dead node")
			}
		})
	}
}
