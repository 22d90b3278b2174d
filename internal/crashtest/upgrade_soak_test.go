//go:build soak

package crashtest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// TestRollingUpgrade plays flows while the nodes of this program are replaced by those of one that
// has a migration more, one after the other: they have joined before the migration, run and lead
// after it, hold the leases of durable functions, are killed and come back, and leave their jobs to
// the newer ones. Whatever holds in TestFlows has to hold.
//
// The newer program is built of what is here, with the migration laid over it.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	next := buildNewer(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		rounds(t, func(t *testing.T) []string { return weather(t, newSQLite(t), nil, &next, raging) })
	})
	for name, late := range map[string]bool{"postgres, binary first": false, "postgres, migrated first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, next := pgtest.Private(t), next
			next.late = late
			rounds(t, func(t *testing.T) []string { return weather(t, server.Database(t), server, &next, raging) })
		})
	}
}

// buildNewer builds this package's tests with the migration.
func buildNewer(t *testing.T) newer {
	t.Helper()
	dir, root := t.TempDir(), "../.."
	source, err := dsn.Parse("sqlite:x.db")
	if err != nil {
		t.Fatal(err)
	}
	version := len(source.Migrations()) + 1
	laid := map[string]string{}
	write := func(path string, content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for to, text := range laterMigration {
		place, err := filepath.Abs(filepath.Join(root, to, fmt.Sprintf("%04d_later.sql", version)))
		if err != nil {
			t.Fatal(err)
		}
		laid[place] = filepath.Join(dir, strings.ReplaceAll(to, "/", "-")+".sql")
		write(laid[place], fmt.Appendf(nil, text, version, version-1))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": laid})
	if err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "overlay"), overlay)
	next := newer{path: filepath.Join(dir, "newer"), version: version}
	build := exec.CommandContext(t.Context(), "go", "test", "-c",
		"-overlay", filepath.Join(dir, "overlay"), "-o", next.path, "./internal/crashtest")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", build, err, out)
	}
	return next
}
