package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
)

// TestEachFlagIsASetting: each flag of the verbs that read a file has a variable, that of its name
// but for one, and is a setting of its own name.
func TestEachFlagIsASetting(t *testing.T) {
	t.Parallel()
	found := 0
	commands(func(cmd *cobra.Command) {
		if cmd.LocalFlags().Lookup(app.FlagConfig) == nil || cmd.HasSubCommands() {
			return
		}
		found++
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == app.FlagConfig {
				return
			}
			want := "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if f.Name == "queue" {
				want = nodes.EnvQueues
			}
			if app.VariableOf(f) != want || app.Setting(cmd, f.Name) != f {
				t.Errorf("%s --%s has the variable %q, not %s, or is no setting", cmd.CommandPath(), f.Name, app.VariableOf(f), want)
			}
		})
		for _, global := range []string{app.FlagDatabase, app.FlagNamespace, app.FlagCodecKeys, app.FlagRedact} {
			if app.Setting(cmd, global) == nil {
				t.Errorf("%s: --%s is no setting", cmd.CommandPath(), global)
			}
		}
	})
	if found != 4 {
		t.Errorf("%d verbs read a file", found)
	}
}

// origins are the values of settings that count, and where they are from.
func (s *shell) origins(args ...string) map[string][2]string {
	s.Helper()
	var list []shownSetting
	if err := json.Unmarshal([]byte(s.ok(append([]string{"config", "show", "--output", "json"}, args...)...)), &list); err != nil {
		s.Fatal(err)
	}
	found := map[string][2]string{}
	for _, one := range list {
		found[one.Setting] = [2]string{one.Value, one.From}
	}
	return found
}

// TestConfigFile: a flag counts more than a variable, that more than what a file says for a verb,
// that more than what it says for all, and that more than the default.
func TestConfigFile(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := filepath.Join(s.dir, "holdfast.toml")
	writeText(t, file, "database = \"postgres://ann:secret@db/app\"\nslots = 4\nbeat = \"2s\"\nnode-name = \"all\"\nauth = \"keys\"\n"+
		"\n[worker]\nslots = 7\nqueue = [\"mail=10\", \"bulk\"]\nallow-exec = true\nnode-name = \"w\"\nstop-timeout = \"1m\"\n")
	delete(s.env, app.EnvDatabase)
	s.env[app.EnvConfig], s.env[nodes.EnvStopTimeout], s.env[nodes.EnvNodeName] = file, "3m", "v"
	got := s.origins("worker", "--", "--node-name", "flag")
	for setting, want := range map[string][2]string{
		"database":     {"postgres://ann:xxxxx@db/app", "database in " + file + ":1"},
		"slots":        {"7", "slots in " + file + ":8"},
		"queue":        {"mail=10,bulk", "queue in " + file + ":9"},
		"allow-exec":   {"true", "allow-exec in " + file + ":10"},
		"beat":         {"2s", "beat in " + file + ":3"},
		"stop-timeout": {"3m0s", nodes.EnvStopTimeout},
		"node-name":    {"flag", "--node-name"},
		"dead-after":   {"20s", "default"},
		"server":       {"", "default"},
	} {
		if got[setting] != want {
			t.Errorf("%s is %q, want %q", setting, got[setting], want)
		}
	}
	if got := s.origins("server"); got["auth"] != [2]string{"keys", "auth in " + file + ":5"} || got["slots"] != [2]string{} {
		t.Errorf("%v", got)
	}
	s.env[app.EnvDatabase] = s.db
	n := s.start("worker")
	until(t, "its log", func() bool { return strings.Contains(n.stderr.String(), "slots=7") })
	n.stop(t)
	s.expect(s.run("worker", "--dead-after", "3s"), app.ExitUsage, "--dead-after", "beat in "+file+":3")
	writeText(t, file, "[worker]\nslots = \"7\"\n")
	s.expect(s.run("worker"), app.ExitUsage, "slots in "+file+":2", "must be a number")
	writeText(t, file, "\nslot = 7\n")
	s.expect(s.run("worker"), app.ExitUsage, file, "line 2", "no verb has a setting slot")
	s.expect(s.run("worker", "--config", "none.toml"), app.ExitUsage, "--config", "none.toml")
	writeText(t, file, "database = \"a.db\"\nserver = \"http://127.0.0.1:1\"\n")
	delete(s.env, app.EnvDatabase)
	s.expect(s.run("worker"), app.ExitUsage, "database in "+file+":1 and server in "+file+":2 are both set")
	s.expect(s.run("worker", "--server", "http://127.0.0.1:2"), 1, "server http://127.0.0.1:2 did not answer")
	s.expect(s.run("config", "show", "job"), app.ExitUsage, "there are dev, worker, server")
	s.expect(s.run("config", "show", "worker", "--", "--nonsense"), app.ExitUsage, "nonsense")
}

// TestConfigShowTellsPeople: the table says in words what a value means that is none.
func TestConfigShowTellsPeople(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env["HOLDFAST_FAILED"] = "48h"
	table := s.ok("config", "show", "server", "--output", "table")
	for _, row := range []string{`completed +never +default`, `failed +48h0m0s +\$?HOLDFAST_FAILED`, `rate-limit +any number +default`} {
		if !regexp.MustCompile(`(?m)^` + row + ` *$`).MatchString(table) {
			t.Errorf("no row is %q:\n%s", row, table)
		}
	}
}

// TestConfigCheck: all that is wrong in a file is told, by line.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	file := filepath.Join(s.dir, "holdfast.toml")
	writeText(t, file, "slots = 4\n[server]\nauth = \"token\"\norigin = \"https://jobs.example.com\"\n"+
		"rate-limit = \"100/s\"\ncompleted = \"30d\"\n"+
		"[maintain-node]\nlisten = \"127.0.0.1:9464\"\n[dev]\nlisten = \"none\"\n")
	if got := s.ok("config", "check", file, "-o", "table"); got != file+": ok\n" {
		t.Errorf("%s", got)
	}
	lines := []string{
		"slot = 4", "slots = \"4\"", "beat = \"soon\"", "log-level = \"loud\"", "queue = \"mail=ten\"", "quiet = true", "context = \"x\"",
		"[server]", "auth = \"ldap\"", "slots = 4", "listen = \"8233\"", "rate-limit = \"fast\"", "read-only = \"yes\"", "origin = [\"x\"]",
		"completed = \"-1h\"", "feed = 1", "[worker]", "slots = 0", "namespace = \"\"", "node-name = [\"a\"]", "dead-after = \"0s\"",
		"[serve]", "a = 1",
		"[maintain-node]", "node-name = \"{nobody}\"",
	}
	right := map[string]bool{"[server]": true, "[worker]": true, "[maintain-node]": true, "a = 1": true} // or told with its table
	writeText(t, file, strings.Join(lines, "\n"))
	got := s.run("config", "check", file, "-o", "json")
	var checked struct {
		OK       bool
		Problems []struct {
			Line int
			Text string
		}
	}
	s.decode(got.stdout, &checked)
	told := map[int]string{}
	for _, p := range checked.Problems {
		if told[p.Line] != "" || p.Text == "" {
			t.Errorf("line %d is told twice, or without words: %q", p.Line, p.Text)
		}
		told[p.Line] = p.Text
	}
	for i, line := range lines {
		if (told[i+1] == "") != right[line] {
			t.Errorf("line %d, %s: %q", i+1, line, told[i+1])
		}
	}
	if got.code != app.ExitError || checked.OK {
		t.Errorf("exit code %d", got.code)
	}
	writeText(t, file, "a = [")
	s.holds(s.run("config", "check", file, "-o", "table").stdout, file+":1: a list has no end")
}

// TestConfigCheckOfCombinations: what a verb refuses together at its start is told, in the line
// that is to be changed, and the start says the same.
func TestConfigCheckOfCombinations(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvToken] = "let-me-in-for-this-test-0123456789"
	file := filepath.Join(s.dir, "holdfast.toml")
	const oidc = "auth = \"oidc\"\n"
	for _, c := range []struct {
		verb, text string
		line       int
		says       string
	}{
		{"server", "[server]\ntls-cert = \"cert.pem\"", 2, "needs --tls-key"},
		{"server", "[server]\ntls-key = \"key.pem\"", 2, "needs --tls-cert"},
		{"server", "tls-key = \"key.pem\"", 1, "needs --tls-cert"}, // it is of one verb
		{"server", "[server]\nlisten = \"0.0.0.0:8233\"\nauth = \"none\"", 3, "is reached from elsewhere"},
		{"server", "auth = \"none\"\n[server]\nlisten = \"0.0.0.0:8233\"", 1, "is reached from elsewhere"},
		{"server", "[server]\nauth = \"none\"\nhost = \"*\"", 2, "any web page"},
		{"server", "[server]\n" + oidc, 2, "needs --oidc-issuer"},
		{"server", "[server]\n" + oidc + "oidc-issuer = \"https://id.example.com\"", 2, "needs --oidc-audience"},
		{"server", "[server]\n" + oidc + "oidc-issuer = \"https://id.example.com\"\noidc-audience = \"a\"", 2, "needs --oidc-role"},
		{
			"server", "[server]\n" + oidc + "oidc-issuer = \"http://id.example.com\"\noidc-audience = \"a\"\noidc-role = \"*=viewer\"", 3,
			"the issuer",
		},
		{"server", "[server]\noidc-issuer = \"https://id.example.com\"", 2, "is about an identity provider"},
		{"server", "[server]\nonly = \"callbacks\"\nread-only = true", 3, "leaves nothing to do"},
		{"server", "[server]\nonly = \"jobs\"", 2, "is not callbacks"},
		{"server", "[server]\nrate-burst = 5", 2, "needs --rate-limit"},
		{"server", "[server]\nlisten = \"none\"", 2, "HOST:PORT"}, // which is for dev
		{"server", "listen = \"none\"\n[server]\nfeed = true", 1, "HOST:PORT"},
		{"server", "[server]\npublic-url = \"jobs\"", 2, "is no URL"},
		{"worker", "[worker]\nbeat = \"10s\"", 2, "less than three times"},
		{"worker", "beat = \"1m\"\n[worker]\ndead-after = \"2m\"", 3, "less than three times"},
		{"worker", "[worker]\narchive-stubs = \"8760h\"", 2, "needs --archive"},
		{"worker", "[worker]\narchive-without-journals = true", 2, "needs --archive"},
		{"worker", "[worker]\nnamespace = \"a,a\"", 2, "twice"},
		{"worker", "[worker]\nsubprocess = [\"a=b\", \"a=c\"]", 2, "twice"},
		{"maintain-node", "[maintain-node]\ncompleted = \"-1h\"", 2, "must be positive"},
	} {
		writeText(t, file, c.text)
		var checked checkedConfig
		s.decode(s.run("config", "check", file, "-o", "json").stdout, &checked)
		if len(checked.Problems) != 1 || checked.Problems[0].Line != c.line || !strings.Contains(checked.Problems[0].Text, c.says) {
			t.Errorf("%q: %+v, want %q in line %d", c.text, checked.Problems, c.says, c.line)
		}
		verb := strings.Split(c.verb, "-")
		s.expect(s.run(append(verb, "--config", file)...), app.ExitUsage, c.says)
	}
	for _, text := range []string{
		"[server]\nonly = \"callbacks\"\nauth = \"none\"\nlisten = \"0.0.0.0:8234\"\nrate-burst = 5", // it needs no --auth
		"[server]\nlisten = \"0.0.0.0:8233\"\nauth = \"keys\"",
		"[server]\ntls-cert = \"is-not-there.pem\"\ntls-key = \"is-not-there.pem\"",
		"listen = \"none\"", // for dev
		"listen = \"none\"\n[dev]\nslots = 4",
		"archive-stubs = \"8760h\"\n[worker]\narchive = \"is-not-there\"",
	} {
		writeText(t, file, text)
		if got := s.run("config", "check", file, "-o", "table"); got.code != app.ExitOK {
			t.Errorf("%q: %s", text, got.stdout)
		}
	}
	writeText(t, file, "[server]\n"+oidc)
	s.env[nodes.EnvOIDCIssuer], s.env[nodes.EnvOIDCAudience], s.env[nodes.EnvOIDCRole] = "https://id.example.com", "jobs", "ops=admin"
	s.ok("config", "check", file)
	s.env[nodes.EnvAuth] = "none" // of which the file says something else
	s.ok("config", "check", file)
}
