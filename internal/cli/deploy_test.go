package cli

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// deployFiles are the texts of the files in deploy/ that start processes, by path.
func deployFiles(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	root := filepath.Join("..", "..", "deploy")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "grafana") || strings.Contains(path, "prometheus") {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		found[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil || len(found) != 6 {
		t.Fatalf("%d files, %v", len(found), err)
	}
	return found
}

var (
	unitLine = regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/(holdfast .*)$`)
	argsLine = regexp.MustCompile(`(?m)^\s*(?:command:|args:|CMD) (\[.*\])$`)
	graceOf  = regexp.MustCompile(`(?:TimeoutStopSec=|stop_grace_period: |terminationGracePeriodSeconds: )(\d+)`)
	anyOf    = regexp.MustCompile(`HOLDFAST_[A-Z_]+`)
)

// started are the command lines of a file.
func started(t *testing.T, text string) (lines []string) {
	t.Helper()
	for _, line := range unitLine.FindAllStringSubmatch(text, -1) {
		lines = append(lines, line[1])
	}
	for _, line := range argsLine.FindAllStringSubmatch(text, -1) {
		var args []string
		if err := json.Unmarshal([]byte(line[1]), &args); err != nil {
			t.Fatalf("%s: %v", line[1], err)
		}
		lines = append(lines, "holdfast "+strings.Join(args, " "))
	}
	return lines
}

// TestDeploy: what the files in deploy/ start are commands with flags that there are, each variable
// is one, a stop is waited for long enough, and the settings are right.
func TestDeploy(t *testing.T) {
	t.Parallel()
	known := []string{app.EnvToken}
	commands(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { known = append(known, app.VariableOf(f)) })
	})
	want := map[string]int{
		"systemd/holdfast-server.service": 1, "systemd/holdfast-worker.service": 1, "docker/Dockerfile": 1, "docker/compose.yaml": 2,
		"kubernetes/holdfast.yaml": 2, "holdfast.toml": 0,
	}
	for name, text := range deployFiles(t) {
		lines := started(t, text)
		if n, is := want[name]; !is || n != len(lines) {
			t.Errorf("%s starts %q, want %d", name, lines, n)
		}
		for _, line := range lines {
			checkExample(t, line)
		}
		for _, variable := range anyOf.FindAllString(text, -1) {
			if !slices.Contains(known, variable) {
				t.Errorf("%s: there is no variable %s", name, variable)
			}
		}
		grace := graceOf.FindAllStringSubmatch(text, -1)
		for _, g := range grace {
			if d, err := time.ParseDuration(g[1] + "s"); err != nil || d < 2*20*time.Second {
				t.Errorf("%s: %s is less than twice the default of --stop-timeout", name, g[0])
			}
		}
		if len(grace) != len(lines) && name != "docker/Dockerfile" {
			t.Errorf("%s says %d times how long a stop takes, and starts %d", name, len(grace), len(lines))
		}
		if name == "docker/Dockerfile" && (!strings.Contains(text, "CGO_ENABLED=0 ") || !strings.Contains(text, "\nUSER 65532")) {
			t.Errorf("%s: the binary is not static, or its user is root", name)
		}
		if name == "holdfast.toml" {
			env := &app.Env{
				LookupEnv: func(string) (string, bool) { return "", false }, Terminal: func(any) bool { return false }, Stdin: strings.NewReader(""),
			}
			for _, wrong := range checkSettings(env, text) {
				t.Errorf("%s: %v", name, wrong)
			}
		}
	}
}
