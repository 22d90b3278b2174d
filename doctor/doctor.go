// Package doctor looks for what keeps jobs from running, or makes them slow or unsafe: in the
// database (its version and settings, the rights in it, transactions that are open for hours, its
// disk), and in what Holdfast has there (the schema, nodes that are silent, jobs that no node
// serves, clocks that differ). Each finding says what to do.
//
//	report, err := doctor.Examine(ctx, postgres.URL("postgres://localhost/app"))
//
// It is for people who look at an installation, as "holdfast doctor" does, and for programs that
// check one before they start. For probes of a node that runs use package health, which costs
// nothing.
//
// # What it promises
//
// It takes no lock that others wait for longer than a moment, and migrates nothing; on PostgreSQL
// it makes the partitions of the coming days if they are missing, as every Open does. What it may
// not look at it says, and goes on.
//
// # Imports
//
// Package store.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Report is what was found.
type Report struct {
	Findings []store.Finding // in an order that does not change
}

// Worst is the severity of the worst finding.
func (r *Report) Worst() store.Severity {
	worst := store.Well
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// examination is one look.
type examination struct {
	now    func() time.Time
	report Report
}

// Examine looks at a database and at what Holdfast has in it. The source is opened only if the
// schema is this program's; give it one that does not migrate (postgres.Config.NoMigrate,
// sqlite.Config.NoMigrate), as others may be just about to. An error is that the database did not
// answer, or that ctx has ended; the report then has what was found until then.
func Examine(ctx context.Context, source store.Source) (*Report, error) {
	e := &examination{now: time.Now}
	return &e.report, e.run(ctx, source)
}

func (e *examination) run(ctx context.Context, source store.Source) error {
	schema, err := source.Schema(ctx)
	if err != nil && !errors.Is(err, store.ErrSchema) {
		return err
	}
	e.add(schemaFinding(schema))
	if database, ok := source.(store.Examines); ok {
		found, err := database.Examine(ctx)
		e.add(found...)
		if err != nil {
			return err
		}
	}
	if !schema.IsServed() {
		return nil
	}
	s, err := source.Open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(e.inside(ctx, s), s.Close())
}

func (e *examination) add(found ...store.Finding) {
	e.report.Findings = append(e.report.Findings, found...)
}

// schemaFinding compares the schema with what this program knows.
func schemaFinding(s store.Schema) store.Finding {
	f := store.Finding{Check: "schema"}
	switch {
	case s.Version == 0:
		f.Severity, f.Text = store.Problem, "there are no tables of Holdfast"
		f.Do = "run holdfast migrate up, or start a program that migrates"
	case s.Version < s.Latest:
		f.Severity, f.Text = store.Problem, fmt.Sprintf("it has version %d, and this program needs %d", s.Version, s.Latest)
		f.Do = "run holdfast migrate up; docs/databases.md says which programs have to be stopped before"
	case s.Version > s.Latest && s.IsServed():
		f.Text = fmt.Sprintf("version %d, which is newer than this program's %d and serves it, too", s.Version, s.Latest)
	case s.Version > s.Latest:
		f.Severity, f.Text = store.Problem, fmt.Sprintf("it has version %d, and this program knows %d", s.Version, s.Latest)
		f.Do = "use the release of Holdfast that the other programs use, or a newer one"
	default:
		f.Text = fmt.Sprintf("version %d, which this program needs", s.Version)
	}
	return f
}

// inside looks at what Holdfast has in the database.
func (e *examination) inside(ctx context.Context, s store.Store) error {
	e.add(clockFinding(s.Now().Sub(e.now())))
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return err
	}
	e.add(nodeFindings(nodes, s.Now())...)
	waiting, err := s.Unserved(ctx, mostUnserved)
	if err != nil {
		return err
	}
	e.add(unservedFinding(waiting))
	return nil
}
