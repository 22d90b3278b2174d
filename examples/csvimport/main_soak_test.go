//go:build soak

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, filepath.Join(t.TempDir(), "csv-import.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, pgtest.Shared(t).Database(t))
	})
}

// small are the options of a small import.
func small(t *testing.T, database string) options {
	t.Helper()
	return options{database: database, dir: t.TempDir(), rows: 3000, seed: 7, slots: 2, chunk: 100, within: time.Minute}
}

func TestApproved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.approve = true
		var out bytes.Buffer
		if err := o.run(t.Context(), &out); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		look := openTest(t, database)
		look.confirmRows(t, o)

		o.approve, o.refuse = false, true
		if err := o.run(t.Context(), &out); err != nil {
			t.Errorf("the same file once more: %v", err)
		}
		if got := out.String(); strings.Count(got, "agree") != 2 || !strings.Contains(got, "known already") {
			t.Errorf("it said %s", got)
		}
		look.confirmRows(t, o)

		o.seed++
		if err := o.run(t.Context(), &out); !errors.Is(err, holdfast.ErrFailed) {
			t.Errorf("another file, which is refused: %v", err)
		}
		look.confirmRows(t, small(t, database))
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.refuse = true
		var out bytes.Buffer
		err := o.run(t.Context(), &out)
		if !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "refused by ") {
			t.Fatalf("%v: %s", err, &out)
		}
		if !strings.Contains(out.String(), "; 0 of its rows are left") {
			t.Errorf("it said %s", &out)
		}
		look := openTest(t, database)
		look.nothingLeft(t)

		o.approve, o.refuse = true, false
		if err := o.run(t.Context(), &out); err != nil {
			t.Fatalf("a new attempt, which is approved: %v: %s", err, &out)
		}
		look.confirmRows(t, o)
	})
}

func TestNobodyDecides(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.within = 300 * time.Millisecond
		var out bytes.Buffer
		err := o.run(t.Context(), &out)
		if !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "nobody has approved it within 300ms") {
			t.Fatalf("%v: %s", err, &out)
		}
		openTest(t, database).nothingLeft(t)
	})
}

// TestCancelled cancels an import whose regions are at work.
func TestCancelled(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, database string) {
		o := small(t, database)
		o.rows, o.chunk = 20_000, 20
		look := openTest(t, database)
		ended := make(chan error, 1)
		go func() { ended <- o.run(t.Context(), &bytes.Buffer{}) }()
		until(t, "some rows are there", func() bool { return look.rows(t) > 500 })
		if err := look.imports(t)[0].Cancel(t.Context(), "the wrong file"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, holdfast.ErrCancelled) || !strings.Contains(err.Error(), "the wrong file") {
			t.Errorf("it ended with %v", err)
		}
		look.nothingLeft(t)
	})
}

// TestBrokenFile breaks a file before it is imported, and meanwhile.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		o := small(t, filepath.Join(t.TempDir(), "csv-import.db"))
		text := o.text(t)
		at := len(text) / 2
		at += strings.IndexByte(text[at:], '\n') + 1
		o.replace(t, text[:at]+"x"+text[at:])
		err := o.run(t.Context(), &bytes.Buffer{})
		if !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "invalid syntax") {
			t.Errorf("it ended with %v", err)
		}
		openTest(t, o.database).nothingLeft(t)
	})
	t.Run("meanwhile", func(t *testing.T) {
		t.Parallel()
		o := small(t, filepath.Join(t.TempDir(), "csv-import.db"))
		o.rows, o.chunk = 20_000, 20
		look := openTest(t, o.database)
		text := o.text(t)
		ended := make(chan error, 1)
		go func() { ended <- o.run(t.Context(), &bytes.Buffer{}) }()
		until(t, "some rows are there", func() bool { return look.rows(t) > 500 })
		o.replace(t, text[:len(text)/2])
		err := <-ended
		if !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "Africa: ") {
			t.Errorf("it ended with %v", err)
		}
		look.nothingLeft(t)
	})
}

// TestChunks reads files chunk by chunk.
func TestChunks(t *testing.T) {
	t.Parallel()
	o := small(t, "")
	o.text(t)
	want, err := survey(o.path())
	if err != nil {
		t.Fatal(err)
	}
	if len(want) != 6 {
		t.Errorf("%d regions", len(want))
	}
	for _, limit := range []int{1, 7, 100, 5000} {
		for _, region := range want {
			var got Totals
			last := int64(0)
			for offset := int64(0); ; {
				sales, next, err := readChunk(o.path(), region.Region, offset, limit)
				if err != nil {
					t.Fatal(err)
				}
				if next == offset {
					break
				}
				for _, s := range sales {
					if s.ID <= last {
						t.Fatalf("sale %d comes after %d", s.ID, last)
					}
					last = s.ID
					got.addSale(&s)
				}
				offset = next
			}
			if got != region.Totals {
				t.Errorf("%s in chunks of %d: %+v instead of %+v", region.Region, limit, got, region.Totals)
			}
		}
	}
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	o := small(t, "")
	first := o.text(t)
	if err := os.Remove(o.path()); err != nil {
		t.Fatal(err)
	}
	if o.text(t) != first {
		t.Error("the same seed makes another file")
	}
	o.seed++
	if o.text(t) == first {
		t.Error("another seed makes the same file")
	}
	if n := strings.Count(first, "\n"); n != o.rows+1 {
		t.Errorf("%d lines for %d rows", n, o.rows)
	}
	if len(countries) != 193 || len(continentOf) != 193 {
		t.Errorf("%d countries with %d codes", len(countries), len(continentOf))
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string][2]bool{
		"y\n": {true, true}, "what?\n\n NO \n": {false, true}, "Yes": {true, true}, "maybe\n": {false, false}, "": {false, false},
	} {
		yes, answered := ask(t.Context(), strings.NewReader(typed), &bytes.Buffer{})
		if got := [2]bool{yes, answered}; got != want {
			t.Errorf("%q: %v", typed, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, _, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, answered := ask(ctx, silent, &bytes.Buffer{}); answered {
		t.Error("an answer although nobody gave one")
	}
}

// looker is a test's look at a database.
type looker struct {
	hf *holdfast.Client
	to *tables
}

func openTest(t *testing.T, database string) looker {
	t.Helper()
	hf, to, err := open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(to.close(), hf.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return looker{hf, to}
}

// imports are the imports that were begun, the newest first.
func (l looker) imports(t *testing.T) (jobs []*holdfast.Job[[]Regional]) {
	t.Helper()
	page, err := l.hf.List(t.Context(), store.Filter{Kinds: []string{ImportFile.Name()}}, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range page.Jobs {
		jobs = append(jobs, ImportFile.Job(l.hf, record.ID))
	}
	return jobs
}

// lost counts the runs that did not come to their end.
func (l looker) lost(t *testing.T) (n int) {
	t.Helper()
	page, err := l.hf.List(t.Context(), store.Filter{}, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range page.Jobs {
		record, err := l.hf.Get(t.Context(), job.ID)
		if err != nil {
			t.Fatal(err)
		}
		n += len(record.Attempts)
	}
	return n
}

// rows are those of all imports.
func (l looker) rows(t *testing.T) (n int) {
	t.Helper()
	if err := l.to.db.QueryRowContext(t.Context(), `SELECT count(*) FROM sales`).Scan(&n); err != nil {
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "does not exist") {
			return 0 // not yet
		}
		t.Fatal(err)
	}
	return n
}

func (l looker) nothingLeft(t *testing.T) {
	t.Helper()
	if n := l.rows(t); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	var left int
	row := l.to.db.QueryRowContext(t.Context(), `SELECT count(*) FROM imports WHERE state <> $1`, undone)
	if err := row.Scan(&left); err != nil || left > 0 {
		t.Errorf("%d imports are not undone: %v", left, err)
	}
}

// confirmRows compares the table with the file, row by row.
func (l looker) confirmRows(t *testing.T, o options) {
	t.Helper()
	rows, err := l.to.db.QueryContext(t.Context(), `
		SELECT sales.id, CAST(day AS TEXT), country, product, quantity, unit_cents
		FROM sales JOIN imports ON imports.id = import_id AND state = $1 ORDER BY sales.id`, live)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var table []Sale
	for rows.Next() {
		var s Sale
		if err := rows.Scan(&s.ID, &s.Day, &s.Country, &s.Product, &s.Quantity, &s.UnitCents); err != nil {
			t.Fatal(err)
		}
		table = append(table, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	in, err := openSales(o.path(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	file := make([]Sale, o.rows)
	for i := range file {
		if file[i], err = in.next(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(table, file) {
		t.Errorf("the table's %d rows are not the file's %d", len(table), len(file))
	}
	if all := l.rows(t); all != len(table) {
		t.Errorf("there are %d rows, and %d of them are live", all, len(table))
	}
}

// until waits for a condition.
func until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within five minutes: %s", what)
		}
	}
}
