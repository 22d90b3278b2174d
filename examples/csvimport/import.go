package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// File says what to import. Where it lies is the business of the process that imports it.
type File struct {
	Name   string        `json:"name"` // for people
	SHA256 string        `json:"sha256"`
	Within time.Duration `json:"within"` // how long to wait for a decision
}

// Part is a region of a file.
type Part struct {
	Import holdfast.ID `json:"import"`
	Region string      `json:"region"`
	Rows   int64       `json:"rows"`
}

// Decision is what a person says to an import that waits.
type Decision struct {
	Approved bool   `json:"approved"`
	By       string `json:"by"`
}

// Chunk is what a step of a region remembers: where the next one begins, and what it has added to
// the table.
type Chunk struct {
	Next int64 `json:"next"`
	Totals
}

// patiently: a process that is killed is no reason to wait long.
var patiently = []holdfast.EnqueueOption{holdfast.Backoff(100*time.Millisecond, 5*time.Second)}

var (
	// ImportFile imports a file as a whole or not at all. One that is being imported, or was, is
	// not imported again.
	ImportFile = holdfast.NewKind[File, []Regional]("csv.import", append(patiently, holdfast.Unique{
		ByFields: []string{"sha256"},
		While:    []store.State{store.Running, store.Retryable, store.Waiting, store.Completed},
	})...)
	// ImportRegion is a child of it.
	ImportRegion = holdfast.NewKind[Part, Totals]("csv.import.region", patiently...)
	// Decide is the signal that ends its wait.
	Decide = holdfast.NewSignal[Decision]("decide")
)

// imported is the key under which an import publishes its totals when it begins to wait.
const imported = "imported"

// queuesOf names the queues of a file's imports and of their regions. Who serves them has the file.
// They are two so that an import that is to be undone need not wait until its regions leave it a
// slot.
func queuesOf(sum string) (imports, regions string) {
	return "csv.import " + sum[:16], "csv.import.region " + sum[:16]
}

// importer does imports of one file.
type importer struct {
	path  string
	chunk int // rows; every process may have its own, since each step remembers where the next begins
	to    *tables
}

func (im *importer) handle(hf *holdfast.Client) error {
	return errors.Join(ImportFile.Handle(hf, im.importFile), ImportRegion.Handle(hf, im.importRegion))
}

// importFile is the import, from the first row to the decision. What it does in steps is done once,
// however often its process is killed.
func (im *importer) importFile(run *holdfast.Run, file File) ([]Regional, error) {
	err := inTx(run, "begin", im.to, func(ctx context.Context, tx *sql.Tx) error { return begin(ctx, tx, run.ID(), file.Name) })
	if err != nil {
		return nil, err
	}
	var (
		regions  []Regional
		children []*holdfast.Child[Totals]
	)
	// From here on there is something to undo, wherever the run ends.
	err = run.OnFailure("delete", func(run *holdfast.Run) error { return im.undo(run, regions, children) })
	if err != nil {
		return nil, err
	}
	regions, err = holdfast.Step(run, "survey", func(context.Context) ([]Regional, error) {
		regions, err := survey(im.path)
		if err != nil {
			return nil, holdfast.Fail(err) // a file that cannot be read now will not be later
		}
		return regions, nil
	})
	if err != nil {
		return nil, err
	}
	_, queue := queuesOf(file.SHA256)
	for _, r := range regions {
		child, err := ImportRegion.Start(run, Part{run.ID(), r.Region, r.Rows}, holdfast.Queue(queue))
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	var failures error
	for i, child := range children {
		regions[i].Totals, err = child.Wait(run)
		if _, failed := errors.AsType[*holdfast.JobError](err); failed {
			failures = errors.Join(failures, fmt.Errorf("%s: %w", regions[i].Region, err))
		} else if err != nil {
			return nil, err
		}
	}
	if failures != nil {
		return nil, holdfast.Fail(failures)
	}

	if err := run.Publish(imported, regions); err != nil {
		return nil, err
	}
	decision, err := Decide.Wait(run, holdfast.WaitAtMost(file.Within))
	switch {
	case errors.Is(err, holdfast.ErrWaitTimeout):
		return nil, holdfast.Fail(fmt.Errorf("nobody has approved it within %v", file.Within))
	case err != nil:
		return nil, err
	case !decision.Approved:
		return nil, holdfast.Fail(fmt.Errorf("refused by %s", decision.By))
	}
	err = inTx(run, "go live", im.to, func(ctx context.Context, tx *sql.Tx) error { return setState(ctx, tx, run.ID(), live) })
	return regions, err
}

// importRegion imports a region, chunk by chunk. A chunk's rows and the memory that they are there
// are one transaction: both or none.
func (im *importer) importRegion(run *holdfast.Run, part Part) (Totals, error) {
	var done Totals
	for offset := int64(0); done.Rows < part.Rows; {
		chunk, err := holdfast.StepTx(run, "chunk", im.to, func(ctx context.Context, tx *sql.Tx) (Chunk, error) {
			sales, next, err := readChunk(im.path, part.Region, offset, im.chunk)
			if err == nil && next == offset {
				err = fmt.Errorf("%s ends before its %d rows of %s", im.path, part.Rows, part.Region)
			}
			if err != nil {
				return Chunk{}, holdfast.Fail(err)
			}
			chunk := Chunk{Next: next}
			for i := range sales {
				chunk.addSale(&sales[i])
			}
			return chunk, insert(ctx, tx, part.Import, part.Region, sales)
		})
		if err != nil {
			return done, err
		}
		offset = chunk.Next
		done.add(chunk.Totals)
		run.Progress(100*float64(done.Rows)/float64(part.Rows), fmt.Sprintf("%d of %d rows", done.Rows, part.Rows))
	}
	return done, nil
}

// undo deletes what was imported. It is durable too: killed half way, it goes on where it was.
func (im *importer) undo(run *holdfast.Run, regions []Regional, children []*holdfast.Child[Totals]) error {
	// An import that was cancelled may have regions at work. They end first, so that nothing comes
	// after the deleting.
	_, err := holdfast.Step(run, "stop", func(ctx context.Context) (struct{}, error) {
		ids := make([]holdfast.ID, len(children))
		for i, child := range children {
			ids[i] = child.ID
		}
		_, err := run.Client().Cancel(ctx, "the import is undone", ids...)
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	for _, child := range children {
		_, err := child.Wait(run)
		if _, failed := errors.AsType[*holdfast.JobError](err); err != nil && !failed {
			return err
		}
	}
	for _, r := range regions {
		for removed := int64(1); removed > 0; {
			removed, err = holdfast.StepTx(run, "delete", im.to, func(ctx context.Context, tx *sql.Tx) (int64, error) {
				return remove(ctx, tx, run.ID(), r.Region, im.chunk)
			})
			if err != nil {
				return err
			}
		}
	}
	return inTx(run, "undone", im.to, func(ctx context.Context, tx *sql.Tx) error { return setState(ctx, tx, run.ID(), undone) })
}

// inTx is a StepTx without a result.
func inTx(run *holdfast.Run, name string, db holdfast.Transactor[*sql.Tx], fn func(context.Context, *sql.Tx) error) error {
	_, err := holdfast.StepTx(run, name, db, func(ctx context.Context, tx *sql.Tx) (struct{}, error) { return struct{}{}, fn(ctx, tx) })
	return err
}
