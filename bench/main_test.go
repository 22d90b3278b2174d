package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast/bench/internal/cluster"
	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/measure"
	"github.com/holdfastdev/holdfast/bench/internal/ours"
	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// TestMain makes the test binary a program that measures, too.
func TestMain(m *testing.M) {
	if measure.Serve(context.Background(), systems()) {
		return
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // or each process takes a second to end; the name is valid
	code := m.Run()
	if started {
		if c, err := shared(); err == nil {
			if err := c.Close(); err != nil {
				fmt.Fprintln(os.Stderr, "stopping the server:", err)
			}
		}
	}
	os.Exit(code)
}

// tiny sizes show that everything works.
var tiny = []string{
	"--quick", "--jobs", "300", "--seconds", "0.05", "--small", "300", "--large", "600", "--history", "300", "--looks", "2", "--nodes", "2",
	"--finished", "300", "--children", "20", "--runs", "20", "--phase", "0.05", "--idle-warm", "0.05", "--idle", "0.1",
}

// The smoke tests run the scenarios with us, with a raw ceiling where one takes part, and with
// River in a few: on SQLite it is a program of another module.

func TestSmokeOnSQLite(t *testing.T) {
	t.Parallel()
	smoke(t, system.SQLite, "all", "raw")
	smoke(t, system.SQLite, "drain", "raw-owner")
}

//nolint:tparallel // its parts use one database
func TestSmokeOnPostgres(t *testing.T) {
	t.Parallel()
	database := server(t)
	for _, test := range []struct{ name, scenarios, peer string }{
		{"raw", "insert-single-16,pickup-500,flow-1-64,fan-out,pinned,idle,waiting", "raw"},
		{"trouble", "held-*,queues-100,storm,late,turns,append,lists", "none"},
		{"limits and watching", "limit-*,keys,follow,await,await-ended", "none"},
		{"owner", "drain", "raw-owner"},
		{"river", "steady,history,nodes", "river"},
	} {
		t.Run(test.name, func(t *testing.T) {
			smoke(t, system.Postgres, test.scenarios, test.peer, "--database", database)
		})
	}
}

// TestOwnServer has the command start its own server.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	if _, err := cluster.Find(); err != nil {
		server(t) // skips
	}
	smoke(t, system.Postgres, "drain", "raw")
}

func smoke(t *testing.T, store, scenarios, peers string, more ...string) {
	t.Helper()
	lines := filepath.Join(t.TempDir(), "lines")
	args := append([]string{"--store", store, "--scenario", scenarios, "--peer", peers, "--json", lines}, tiny...)
	s, err := parse(append(args, more...))
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	if err := run(t.Context(), s, &table); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(lines)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var record figures.Record
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if record.Round == 0 {
			continue // a summary
		}
		seen[record.Scenario+" "+record.System] = true
		if len(record.Versions) == 0 || len(record.Settings) == 0 {
			t.Errorf("a record without versions or settings: %s", line)
		}
		if record.Scenario != "idle" && (record.Jobs == 0 || record.Figures[figures.Rate] == 0) {
			t.Errorf("%s measured nothing of %s: %v", record.Scenario, record.System, record.Sample)
		}
		reads := record.Scenario == "await-ended"
		wal, ok := record.Figures[figures.WAL]
		if ok != (store == system.Postgres && record.Scenario != "idle") || ok && wal <= 0 && !reads {
			t.Errorf("%s of %s: %v bytes of WAL, known: %v", record.Scenario, record.System, wal, ok)
		}
	}
	for _, sc := range s.scenarios {
		if sc.On(store) && !seen[sc.Name+" "+ours.Name] || sc.On(store) && !strings.Contains(table.String(), "### "+sc.Name+":") {
			t.Errorf("%s is missing", sc.Name)
		}
	}
}

// shared is the server of all tests.
var shared = sync.OnceValues(func() (*cluster.Cluster, error) {
	started = true
	return cluster.Start(context.Background(), "")
})

// server is the URL of a server. It skips the test where there is none to be had.
func server(t *testing.T) string {
	t.Helper()
	c, err := shared()
	switch {
	case errors.Is(err, cluster.ErrNotFound) && os.Getenv("CI") == "":
		t.Skipf("NOT TESTED, because there is no PostgreSQL: %v", err)
	case err != nil:
		t.Fatalf("PostgreSQL does not work: %v", err)
	}
	return c.URL("postgres")
}

// started tells that there is a server to be stopped.
var started bool

func TestScenarios(t *testing.T) {
	known := map[string]bool{}
	for _, s := range systems() {
		known[s.Name()] = true
	}
	names := map[string]bool{}
	for _, s := range scenario.All() {
		if names[s.Name] || s.Title == "" {
			t.Errorf("scenario %q, %q: there are two, or it has no title", s.Name, s.Title)
		}
		names[s.Name] = true
		for _, store := range []string{system.SQLite, system.Postgres} {
			if m := s.MeasureOf(store); m.Figure == "" || m.Unit == "" {
				t.Errorf("%s measures nothing on %s", s.Name, store)
			}
			for _, peer := range s.Peers[store] {
				if !known[peer] {
					t.Errorf("%s is compared with %q, which nobody knows", s.Name, peer)
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		names string
		quick bool
		want  string
	}{
		{"steady,drain", false, "drain steady"},
		{"pickup-*", true, "pickup-10 pickup-500 pickup-3000"},
		{"flow-1-*,drain", false, "drain flow-1-1 flow-1-64 flow-1-1000"},
		{"drian", false, ""},
		{"x*", false, ""},
	} {
		list, err := choose(test.names, test.quick)
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); (err == nil) != (test.want != "") || err == nil && got != test.want {
			t.Errorf("%q: %q, %v", test.names, got, err)
		}
	}
	all, err := choose("all", false)
	if err != nil || len(all) != len(scenario.All()) {
		t.Errorf("all are %d: %v", len(all), err)
	}
	if some, err := choose("all", true); err != nil || len(some) >= len(all) {
		t.Errorf("a quick run has %d of %d: %v", len(some), len(all), err)
	}
}

func TestSizes(t *testing.T) {
	s, err := parse([]string{"--seconds", "4", "--large", "70", "--rounds", "2"})
	if err != nil {
		t.Fatal(err)
	}
	want := fullSizes
	want.Seconds, want.Steady, want.Large = 4, 4, 70
	if s.sizes != want || s.rounds != 2 {
		t.Errorf("%+v, %d rounds", s.sizes, s.rounds)
	}
	if s, err := parse([]string{"--quick"}); err != nil || s.sizes != quickSizes || s.rounds != 1 {
		t.Errorf("quick: %+v, %v", s, err)
	}
	for _, wrong := range [][]string{{"--store", "oracle"}, {"drain"}, {"--scenario", ""}} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
