package examine

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestFindings: what is judged how, at the bounds and beyond.
func TestFindings(t *testing.T) {
	t.Parallel()
	good := settings{fsync: true, fullPages: true, vacuums: true, commit: "on", connections: 97, used: 10}
	with := func(change func(*settings)) *settings { s := good; change(&s); return &s }
	job := "job_p20261126"
	idle := &open{pid: 7, seconds: 600.4, program: "psql", role: "me", state: "idle in transaction"}
	dead := &sizes{worst: &job, dead: 2_000_000, live: 10}
	for name, c := range map[string]struct {
		found store.Finding
		want  store.Severity
		words string
	}{
		"durable":              {good.durability(), store.Well, "every commit"},
		"fsync":                {with(func(s *settings) { s.fsync = false }).durability(), store.Problem, "fsync is off"},
		"full pages":           {with(func(s *settings) { s.fullPages = false }).durability(), store.Problem, "full_page_writes is off"},
		"asynchronous":         {with(func(s *settings) { s.commit = "off" }).durability(), store.Problem, "synchronous_commit is off"},
		"remote apply":         {with(func(s *settings) { s.commit = "remote_apply" }).durability(), store.Well, "every commit"},
		"no standby":           {good.replication(), store.Well, "none"},
		"asynchronous standby": {with(func(s *settings) { s.standbys = 2 }).replication(), store.Warning, "2, none of them synchronous"},
		"local commits": {
			with(func(s *settings) { s.standbys, s.waits, s.commit = 1, true, "local" }).replication(), store.Warning, "synchronous_commit is local",
		},
		"synchronous standby":   {with(func(s *settings) { s.standbys, s.waits = 1, true }).replication(), store.Well, "commits wait"},
		"standby that is away":  {with(func(s *settings) { s.waits = true }).replication(), store.Problem, "no standby follows"},
		"no vacuum":             {with(func(s *settings) { s.vacuums = false }).vacuum(), store.Problem, "dead rows stay"},
		"vacuum":                {good.vacuum(), store.Well, "on"},
		"room":                  {good.room(), store.Well, "10 of 97"},
		"no room":               {with(func(s *settings) { s.used = 90 }).room(), store.Warning, "90 of 97"},
		"nothing open":          {(&open{}).finding(), store.Well, "none"},
		"open for a minute":     {(&open{pid: 7, seconds: 60}).finding(), store.Well, "none"},
		"open for ten":          {idle.finding(), store.Warning, `10m0s: pid 7, role "me", application "psql", idle in transaction`},
		"open for two hours":    {(&open{pid: 7, seconds: 7200}).finding(), store.Problem, "2h0m0s"},
		"not prepared":          {preparedFinding("", 0), store.Well, "none"},
		"prepared":              {preparedFinding("tx-1", 900), store.Warning, `"tx-1" has been prepared for 15m0s`},
		"no slot":               {(&slot{}).finding(), store.Well, "none"},
		"slot":                  {(&slot{name: "s"}).finding(), store.Well, "none"},
		"slot that keeps":       {(&slot{name: "s", kept: 3e9}).finding(), store.Warning, `"s", for which the server keeps 3.0 GB`},
		"slot that holds":       {(&slot{name: "s", holds: true}).finding(), store.Note, "dead rows may be kept"},
		"no dead rows":          {(&sizes{size: 5e6}).findings()[0], store.Well, "no table"},
		"dead rows":             {dead.findings()[0], store.Warning, "table job_p20261126 has 2000000 dead rows beside 10"},
		"dead beside more":      {(&sizes{worst: &job, dead: 2_000_000, live: 3_000_000}).findings()[0], store.Well, "no table"},
		"young transaction ids": {(&sizes{age: 180_000_000}).findings()[1], store.Well, "180 million"},
		"old transaction ids":   {(&sizes{age: 1_500_000_000}).findings()[1], store.Problem, "1500 million"},
		"size":                  {(&sizes{size: 5_250_000}).findings()[2], store.Well, "5.2 MB"},
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
