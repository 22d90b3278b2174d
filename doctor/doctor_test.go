package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestFindings: what is judged how.
func TestFindings(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	node := func(id int64, change ...func(*store.Node)) store.Node {
		n := store.Node{ID: id, BeatAt: now, Info: store.NodeInfo{Name: "host", Version: "1.0", DeadAfter: 20 * time.Second}}
		for _, c := range change {
			c(&n)
		}
		return n
	}
	leads := func(n *store.Node) { n.Leader = true }
	silent := func(d time.Duration) func(*store.Node) { return func(n *store.Node) { n.BeatAt = now.Add(-d) } }
	ill := func(n *store.Node) { n.Unwell = []string{"claims fail"} }
	nodes := func(i int, list ...store.Node) store.Finding { return nodeFindings(list, now)[i] }
	waits := store.Unserved{Namespace: "default", Queue: "mail", Kind: "send"}
	versioned := waits
	versioned.Version = "2"
	for name, c := range map[string]struct {
		found store.Finding
		want  store.Severity
		words string
	}{
		"no schema":       {schemaFinding(store.Schema{Latest: 7}), store.Problem, "no tables"},
		"old schema":      {schemaFinding(store.Schema{Version: 6, Latest: 7}), store.Problem, "version 6, and this program needs 7"},
		"new schema":      {schemaFinding(store.Schema{Version: 8, Latest: 7}), store.Problem, "version 8, and this program knows 7"},
		"schema":          {schemaFinding(store.Schema{Version: 7, Latest: 7}), store.Well, "version 7"},
		"clock":           {clockFinding(-900 * time.Millisecond), store.Well, "agree"},
		"clock ahead":     {clockFinding(3 * time.Second), store.Warning, "3s ahead of"},
		"clock behind":    {clockFinding(-time.Second), store.Warning, "1s behind"},
		"no node":         {nodes(0, node(1, func(n *store.Node) { n.DeadAt = now })), store.Warning, "none is alive"},
		"nodes":           {nodes(0, node(1, leads), node(2)), store.Well, "2 alive"},
		"no leader":       {nodes(0, node(1), node(2)), store.Warning, "maintenance"},
		"two versions":    {nodes(0, node(1, leads), node(2, func(n *store.Node) { n.Info.Version = "1.1" })), store.Note, "1 of 1.0; 1 of 1.1"},
		"late":            {nodes(1, node(1, leads), node(2, silent(15*time.Second))), store.Warning, "node 2 (host) has sent no"},
		"late and alone":  {nodes(0, node(2, leads, silent(15*time.Second))), store.Warning, "none is alive"},
		"silent for long": {nodes(1, node(1, leads), node(2, silent(time.Minute))), store.Problem, "for 1m0s"},
		"heard of":        {nodes(1, node(1, leads)), store.Well, "every node"},
		"unwell":          {nodes(2, node(1, leads, ill)), store.Warning, "node 1 (host): claims fail"},
		"well":            {nodes(2, node(1, leads)), store.Well, "no node says"},
		"served":          {unservedFinding(nil), store.Well, "a node serves"},
		"unserved":        {unservedFinding([]store.Unserved{versioned}), store.Problem, "send in queue mail of namespace default, version 2"},
		"many unserved":   {unservedFinding([]store.Unserved{waits, versioned, waits, waits, waits}), store.Problem, "; and 2 more"},
	} {
		f := c.found
		if f.Severity != c.want || !strings.Contains(f.Text, c.words) {
			t.Errorf("%s: %+v, want %v and %q", name, f, c.want, c.words)
		}
		if (f.Severity > store.Well) != (f.Do != "") {
			t.Errorf("%s: %v, and what to do is %q", name, f.Severity, f.Do)
		}
	}
}

// TestExamine goes through the life of a database: no file, no node, and jobs that none serves.
func TestExamine(t *testing.T) {
	t.Parallel()
	source := sqlite.Config{Path: filepath.Join(t.TempDir(), "jobs.db"), NoMigrate: true}
	severity := func(check string) store.Severity {
		t.Helper()
		report, err := Examine(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if f.Severity > report.Worst() {
				t.Errorf("%+v is worse than the worst, %v", f, report.Worst())
			}
			if f.Check == check {
				return f.Severity
			}
		}
		return -1
	}
	if s := severity("schema"); s != store.Problem {
		t.Errorf("without a file: %v", s)
	}
	if s := severity("nodes"); s != -1 {
		t.Errorf("without a file nodes are looked at: %v", s)
	}
	if _, err := source.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := severity("nodes"); s != store.Warning {
		t.Errorf("without a node: %v", s)
	}
	if s := severity("jobs without nodes"); s != store.Well {
		t.Errorf("without a job: %v", s)
	}
	s, err := source.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	job := store.Job{
		ID: store.ID{6: 0x70, 8: 0x80, 15: 1}, Namespace: "default", Queue: "default", Kind: "send",
		Priority: 2, MaxAttempts: 3, Args: []byte("{}"),
	}
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{{Job: job}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s := severity("jobs without nodes"); s != store.Problem {
		t.Errorf("with a job and no node: %v", s)
	}
}

// broken is a source whose database stops answering.
type broken struct {
	store.Source
	schema, examine error
}

func (b broken) Schema(context.Context) (store.Schema, error) {
	return store.Schema{Version: 1, Latest: 2}, b.schema
}

func (b broken) Examine(context.Context) ([]store.Finding, error) {
	return []store.Finding{{Check: "server", Text: "PostgreSQL"}}, b.examine
}

// TestExamineThatFails: what was found before is in the report.
func TestExamineThatFails(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	if report, err := Examine(t.Context(), broken{schema: gone}); !errors.Is(err, gone) || len(report.Findings) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if report, err := Examine(t.Context(), broken{examine: gone}); !errors.Is(err, gone) || len(report.Findings) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	if report, err := Examine(t.Context(), broken{schema: store.ErrSchema}); err != nil || report.Worst() != store.Problem {
		t.Errorf("%+v, %v", report, err)
	}
}
