//go:build soak

package crashtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// firstToAsk is the version of the schema from which on programs look whether a later one serves
// them.
const firstToAsk = 37

// TestRollingUpgrade plays flows while the nodes of a program from before the newest migration are
// replaced by those of this one, one after the other: they have joined before the migration, run
// and lead after it, hold the leases of durable functions, are killed, and leave their jobs to the
// new ones. Whatever holds in TestFlows has to hold.
//
// The earlier program is that of the last commit before the newest migration, so this needs the
// history of the repository.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	old := buildEarlier(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rounds(t, func(t *testing.T) []string { return weather(t, newSQLite(t), nil, &old, raging) })
	})
	for name, alone := range map[string]bool{"postgres, binary first": false, "postgres, migrated first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, old := pgtest.Private(t), old
			old.alone = alone
			rounds(t, func(t *testing.T) []string { return weather(t, server.Database(t), server, &old, raging) })
		})
	}
}

// buildEarlier builds this package's tests as they were before the newest migration.
func buildEarlier(t *testing.T) (old earlier) {
	t.Helper()
	git := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "git", args...).Output()
		if err != nil {
			t.Skipf("the history of the repository is not there, so no earlier program can be built: git %s: %v", strings.Join(args, " "), err)
		}
		return strings.TrimSpace(string(out))
	}
	root := git("rev-parse", "--show-toplevel")
	source, err := dsn.Parse("sqlite:x.db")
	if err != nil {
		t.Fatal(err)
	}
	newest := slices.MaxFunc(source.Migrations(), func(a, b store.Migration) int { return a.Version - b.Version })
	file := fmt.Sprintf("store/sqlite/migrations/%04d_%s.sql", newest.Version, newest.Name)
	commit := "HEAD" // if the newest migration is not committed yet
	if added := git("-C", root, "log", "--diff-filter=A", "--format=%H", "-n", "1", "--", file); added != "" {
		commit = git("-C", root, "rev-parse", added+"^")
	}
	dir := t.TempDir()
	archive := filepath.Join(dir, "source.tar")
	git("-C", root, "archive", "--output", archive, commit)
	old = earlier{path: filepath.Join(dir, "earlier"), version: newest.Version - 1, restarts: newest.Version > firstToAsk}
	for _, cmd := range []*exec.Cmd{
		exec.CommandContext(t.Context(), "tar", "-xf", archive, "-C", dir),
		exec.CommandContext(t.Context(), "go", "test", "-c", "-o", old.path, "./internal/crashtest"),
	} {
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd, err, out)
		}
	}
	return old
}
