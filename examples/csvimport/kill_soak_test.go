//go:build soak

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestKilled kills the program's processes at random moments and starts others, while they import
// and when they wait for the approval.
func TestKilled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.rows = 20_000
		look := openTest(t, database)
		programs := make([]*program, 2)
		for i := range programs {
			programs[i] = o.start(t)
		}
		for kills := range 6 {
			done := look.rows(t)
			target := done + rand.IntN((o.rows-done)/3+1)
			t.Logf("kill %d when %d of %d rows are there", kills+1, target, o.rows)
			until(t, "some more rows are there", func() bool { return look.rows(t) >= target })
			victim := rand.IntN(len(programs))
			programs[victim].Kill()
			programs[victim] = o.start(t)
		}
		job := look.imports(t)[0]
		if _, err := look.hf.WaitPublished(t.Context(), job.ID, imported, 0); err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			p.Kill()
		}
		if n := look.rows(t); n != o.rows {
			t.Errorf("%d rows are there of %d", n, o.rows)
		}
		o.approve = true
		if text := o.start(t).finish(t, true); !strings.Contains(text, "agree") {
			t.Errorf("it said %s", text)
		}
		look.confirmRows(t, o)
		if n := len(look.imports(t)); n != 1 {
			t.Errorf("there were %d imports", n)
		}
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Completed {
			t.Errorf("the import is %s: %v", record.State, err)
		}
		t.Logf("%d runs of jobs were cut off", look.lost(t))
	})
}

// TestKilledUndoing kills the program while it deletes what it has imported.
func TestKilledUndoing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.rows, o.chunk, o.refuse = 6000, 50, true
		look := openTest(t, database)
		p := o.start(t)
		until(t, "the import has begun", func() bool { return len(look.imports(t)) > 0 })
		job := look.imports(t)[0]
		if _, err := look.hf.WaitPublished(t.Context(), job.ID, imported, 0); err != nil {
			t.Fatal(err)
		}
		for kills := range 2 {
			left := look.rows(t) * (1 + rand.IntN(9)) / 10
			t.Logf("kill %d when %d of %d rows are left", kills+1, left, o.rows)
			until(t, "some more rows are deleted", func() bool { return look.rows(t) <= left })
			p.Kill()
			p = o.start(t)
		}
		if text := p.finish(t, false); !strings.Contains(text, "; 0 of its rows are left") || !strings.Contains(text, "refused by") {
			t.Errorf("it said %s", text)
		}
		look.nothingLeft(t)
	})
}
