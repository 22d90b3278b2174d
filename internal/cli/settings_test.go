package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// variablesOf returns the flags of a verb by the variables that set them.
func variablesOf(verb string) map[string]string {
	found := map[string]string{}
	commands(func(cmd *cobra.Command) {
		if cmd.Name() != verb {
			return
		}
		add := func(f *pflag.Flag) {
			if name := app.VariableOf(f); name != "" {
				found[name] = f.Name
			}
		}
		cmd.LocalFlags().VisitAll(add)
		cmd.InheritedFlags().VisitAll(add)
	})
	return found
}

// wrongValues are values that each variable of a node refuses.
var wrongValues = map[string][]string{
	app.EnvDatabase:      {"mysql://localhost/x", ":memory:"},
	app.EnvServer:        {"localhost:8233", "https://", "http://secret@host", "http://127.0.0.1:1"}, // the last beside a database
	app.EnvTLSCA:         {},                                                                         // it may be meant for other commands
	app.EnvContext:       {"none"},
	app.EnvConfig:        {"/no/such/file"},
	app.EnvNamespace:     {"a,,b", ",", "a,a", "a, a", "a\nb", strings.Repeat("n", 201)},
	nodes.EnvQueues:      {"mail=0", "mail=ten", "mail=1.5", "=5", "mail,", "mail,mail=2", "a\nb", "mail 10=", strings.Repeat("q", 201)},
	nodes.EnvSlots:       {"0", "-1", "many", "1.5", "1e3", " 5", "99999999999999999999"},
	nodes.EnvNodeName:    {"{prefix}-worker", "{}", "{host}-{ID}", "a\nb", strings.Repeat("n", 201)},
	nodes.EnvBeat:        {"0s", "-1s", "5", "soon", "7s", "1d"},
	nodes.EnvDeadAfter:   {"0s", "-20s", "20", "14s", "later"},
	nodes.EnvAllowExec:   {"maybe", "yes", "2"},
	nodes.EnvStopTimeout: {"-1s", "20", "x"},
	nodes.EnvSubprocess:  {"resize", "=x", "resize=", "a=x 'y", "a=x\na=y", "a@1=x"},
	nodes.EnvCount:       {"0", "-1", "two"},
	nodes.EnvRuns:        {"-1", "x"},
	nodes.EnvMemory:      {"-1", "1GiB"},
	nodes.EnvListen:      {"9464", "localhost", "127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:", "::1:9464"},
	nodes.EnvArchive:     {"/dev/null", "/dev/null/x"},
	nodes.EnvStubs:       {"-1h", "1y", "8760"},
	nodes.EnvNoJournals:  {"maybe", "yes", "2"},
	app.EnvLogLevel:      {"loud", "INFO", "1"},
	app.EnvLogFormat:     {"xml", "JSON"},
	app.EnvCodecKeys:     {"/no/such/file"},
	app.EnvRedact:        {"a..b", "none,a", ","},
}

// TestWrongVariables: a wrong value ends a node with the exit code of a usage error, and the
// message names the variable; an empty one is wrong, too. All flags of nodes have a variable.
func TestWrongVariables(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"dev", "worker"} {
		variables, wrongValues := variablesOf(verb), maps.Clone(wrongValues)
		if verb == "dev" {
			wrongValues[nodes.EnvFeed], wrongValues[nodes.EnvDashboard] = []string{"maybe", "yes"}, []string{"maybe"}
			wrongValues[nodes.EnvTitle], wrongValues[nodes.EnvAccent] = []string{strings.Repeat("x", 101)}, []string{"red", "#12"}
			wrongValues[nodes.EnvLogo] = []string{"/no/such/file", "settings_test.go"}
			wrongValues[nodes.EnvPush], wrongValues[nodes.EnvPushSlots] = []string{"maybe"}, []string{"x", "0"}
			wrongValues[nodes.EnvPushAllow], wrongValues[nodes.EnvPublicURL] = []string{"localhost", "10.0.0.0/99"}, []string{"jobs.example.com"}
		}
		if want, got := slices.Sorted(maps.Keys(wrongValues)), slices.Sorted(maps.Keys(variables)); !slices.Equal(got, want) {
			t.Fatalf("%s has the variables %v, and %v are tested", verb, got, want)
		}
		commands(func(cmd *cobra.Command) {
			if cmd.Name() != verb {
				return
			}
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && (app.VariableOf(f) == "" || !strings.Contains(f.Usage, "$"+app.VariableOf(f))) {
					t.Errorf("%s --%s has no variable that its help names", verb, f.Name)
				}
			})
		})
		s := newShell(t)
		for name, values := range wrongValues {
			if (name == app.EnvServer || name == app.EnvTLSCA) && verb == "dev" {
				continue // which needs the database itself, and has one
			}
			for _, value := range append([]string{"", "  "}, values...) {
				s.env = map[string]string{app.EnvDatabase: s.db, name: value}
				words := name
				if name == app.EnvDatabase && strings.TrimSpace(value) != "" {
					words = "database" // what it is wrong about is told without its value
				}
				s.expect(s.run(verb), app.ExitUsage, words, "see: holdfast "+verb+" --help")
			}
		}
		if found, err := os.ReadDir(s.dir); err != nil || len(found) > 0 {
			t.Errorf("they made %v, %v", found, err)
		}
	}
}

// TestWrongVariablesOfServer: the same for those of the API.
func TestWrongVariablesOfServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for name, values := range map[string][]string{
		nodes.EnvAuth: {"", "ldap", ",", "token,token", "keys,none"},
		nodes.EnvHost: {""}, nodes.EnvOrigin: {"", "jobs.example.com"}, nodes.EnvReadOnly: {"", "maybe"},
		nodes.EnvOnly:   {"", "jobs"},
		nodes.EnvListen: {"", "9464", "127.0.0.1:99999"}, nodes.EnvFeed: {"", "maybe"},
		nodes.EnvTLSCert: {"", "/no/such/file"}, nodes.EnvTLSKey: {"", "/no/such/file"},
		nodes.EnvPush: {"", "maybe"}, nodes.EnvPushAllow: {"", "localhost", "10.0.0.0/99"}, nodes.EnvPushSlots: {"", "x", "0"},
		nodes.EnvPublicURL: {"", "jobs.example.com"},
		nodes.EnvRate:      {"", "fast"}, nodes.EnvBurst: {"", "x", "5"},
		nodes.EnvOIDCIssuer: {""}, nodes.EnvOIDCAudience: {""}, nodes.EnvOIDCRole: {"", "ops"}, nodes.EnvOIDCGroups: {""},
		nodes.EnvOIDCName: {""}, nodes.EnvOIDCKeys: {""},
	} {
		for _, value := range values {
			s.env = map[string]string{
				app.EnvDatabase: s.db, nodes.EnvToken: "0123456789abcdefghij", nodes.EnvListen: "127.0.0.1:0", name: value,
			}
			s.expect(s.run("server"), app.ExitUsage, name, "see: holdfast server --help")
		}
	}
}

// aliveNode is a node as "node list" prints it.
type aliveNode struct {
	Name, Namespace string
	Slots           int
	Queues, Kinds   []string
	QueueSlots      map[string]int `json:"queue_slots"`
	DeadAfter       string         `json:"dead_after"`
}

// nodeNow is the only node that is alive.
func (s *shell) nodeNow() aliveNode {
	s.Helper()
	var list []aliveNode
	s.decode(s.ok("node", "list", "-o", "json"), &list)
	if len(list) != 1 {
		s.Fatalf("the nodes are %+v", list)
	}
	return list[0]
}

// TestNodeByVariables: every setting of a node by its variable, and by its flag, which comes before
// the variable.
func TestNodeByVariables(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  map[string]string
		args []string
		want aliveNode
	}{
		{
			name: "variables",
			env: map[string]string{
				nodes.EnvQueues: "mail=10, reports", nodes.EnvSlots: "12", nodes.EnvNodeName: "shop-worker-{id}", app.EnvNamespace: "prod",
				nodes.EnvBeat: "2s", nodes.EnvDeadAfter: "9s", nodes.EnvAllowExec: "true", nodes.EnvStopTimeout: "1m", app.EnvLogLevel: "info",
				app.EnvLogFormat: "json",
			},
			want: aliveNode{
				Name: "shop-worker-[0-9a-f]{6}", Namespace: "prod", Slots: 12, Queues: []string{"mail", "reports"},
				QueueSlots: map[string]int{"mail": 10}, Kinds: []string{"exec", "http"}, DeadAfter: "9s",
			},
		},
		{
			name: "flags before variables",
			env: map[string]string{
				nodes.EnvQueues: "mail=10,reports", nodes.EnvSlots: "12", nodes.EnvNodeName: "{wrong}", app.EnvNamespace: "prod",
				nodes.EnvBeat: "wrong", nodes.EnvDeadAfter: "1s", nodes.EnvAllowExec: "true", nodes.EnvStopTimeout: "x",
			},
			args: []string{
				"--queue", "a=2,b", "--queue", "c", "--slots", "3", "--node-name", "{host}/{pid}/{version}", "-n", "dev",
				"--beat", "1s", "--dead-after", "3s", "--allow-exec=false", "--stop-timeout", "10s",
			},
			want: aliveNode{
				Name: fmt.Sprintf("[^/]+/%d/[^/]+", os.Getpid()), Namespace: "dev", Slots: 3, Queues: []string{"a", "b", "c"},
				QueueSlots: map[string]int{"a": 2}, Kinds: []string{"http"}, DeadAfter: "3s",
			},
		},
		{name: "neither", want: aliveNode{
			Name: fmt.Sprintf(`.+\[%d\]`, os.Getpid()), Namespace: app.DefaultNamespace, Slots: 100, Queues: []string{},
			QueueSlots: map[string]int{}, Kinds: []string{"http"}, DeadAfter: "20s",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			maps.Copy(s.env, test.env)
			n := s.start(append([]string{"worker"}, test.args...)...)
			got := s.nodeNow()
			if !regexp.MustCompile("^" + test.want.Name + "$").MatchString(got.Name) {
				t.Errorf("its name is %q, want %s", got.Name, test.want.Name)
			}
			got.Name = test.want.Name
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the node differs:\n%s", diff)
			}
			n.stop(t)
			if asJSON := strings.HasPrefix(n.stderr.String(), "{"); asJSON != (test.env[app.EnvLogFormat] == "json") {
				t.Errorf("its log is %s", n.stderr)
			}
		})
	}
}

// TestSeveralNamespaces: one process is a node in each, and stops in all of them in order.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		names := []string{"shop", "billing", "it's"}
		s.env[app.EnvNamespace] = strings.Join(names, ", ")
		dev := s.start("dev", "--slots", "2")
		until(t, "all nodes", func() bool { return strings.Count(s.ok("node", "list", "-o", "jsonl"), `"alive":true`) == len(names) })
		if hint := dev.stderr.String(); !strings.Contains(hint, " job list --namespace shop\n") {
			t.Errorf("it hints\n%s", hint)
		}
		// Each job runs in its namespace, and its node is the one of that.
		byNode := map[string]bool{}
		for _, name := range names {
			s.expect(s.run("-n", name, "job", "enqueue", "exec", `{"command":["echo","`+name+`"]}`, "--wait", "-q"), 0)
			var jobs []struct{ Namespace, State, Kind string }
			s.decode(s.ok("-n", name, "job", "list", "-o", "json"), &jobs)
			if len(jobs) != 1 || jobs[0].Namespace != name || jobs[0].State != "completed" {
				t.Errorf("in %s are the jobs %+v", name, jobs)
			}
		}
		for line := range strings.Lines(s.ok("node", "list", "-o", "jsonl")) {
			var n struct{ Namespace, ID string }
			s.decode(line, &n)
			byNode[n.Namespace] = true
		}
		if len(byNode) != len(names) {
			t.Errorf("the nodes are of %v", byNode)
		}
		for _, args := range [][]string{{"job", "list"}, {"queue", "list"}, {"job", "enqueue", "http"}, {"queue", "pause", "x"}} {
			s.expect(s.run(args...), app.ExitUsage, "HOLDFAST_NAMESPACE names 3 namespaces; choose one with --namespace shop")
			s.expect(s.run(append(args, "-n", "a,b")...), app.ExitUsage, "--namespace names 2 namespaces")
		}
		s.ok("migrate", "status") // it works in none
		// Stopping waits for the jobs of all. This one ends when there is a file.
		id, end := "", filepath.Join(t.TempDir(), "end")
		var v views.Enqueued
		s.decode(s.ok("-n", "billing", "job", "enqueue", "exec",
			fmt.Sprintf(`{"command":["sh","-c","until [ -e \"$0\" ]; do sleep 0.05; done; echo done",%q]}`, end)), &v)
		id = v.ID
		until(t, "the start of the job", func() bool {
			return strings.Contains(s.ok("-n", "billing", "job", "get", id, "-o", "json"), `"state": "running"`)
		})
		time.AfterFunc(300*time.Millisecond, func() { _ = os.WriteFile(end, nil, 0o600) })
		dev.stop(t)
		if out := s.ok("-n", "billing", "job", "wait", id); !strings.Contains(out, "done") {
			t.Errorf("%s", out)
		}
		if out := s.ok("node", "list", "-o", "jsonl"); strings.Contains(out, `"alive":true`) {
			t.Errorf("a node is left:\n%s", out)
		}
	})
}

// TestSeveralNamespacesInAHurry: a second signal ends the jobs of all.
func TestSeveralNamespacesInAHurry(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	worker := s.start("worker", "--allow-exec", "-n", "a,b", "--stop-timeout", "10m")
	ids := map[string]string{}
	for _, name := range []string{"a", "b"} {
		var v views.Enqueued
		s.decode(s.ok("-n", name, "job", "enqueue", "exec", `{"command":["sleep","1000"]}`), &v)
		ids[name] = v.ID
		until(t, "the start of the job", func() bool {
			return strings.Contains(s.ok("-n", name, "job", "get", v.ID, "-o", "json"), `"state": "running"`)
		})
	}
	worker.signals <- syscall.SIGTERM
	worker.stop(t)
	for name, id := range ids {
		out := s.ok("-n", name, "job", "get", id, "-o", "json")
		if !strings.Contains(out, `"state": "available"`) || !strings.Contains(out, `"attempt": 0`) {
			t.Errorf("of %s there is\n%s", name, out)
		}
	}
}
