package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// changed is the result of changing one job.
type changed struct {
	state store.State
	err   error
	words string
}

// change changes jobs and prints the result of each. Jobs that cannot be changed do not keep the
// others from it.
func (a verbs) change(
	ctx context.Context, args []string, work func(*holdfast.Client, []holdfast.ID) ([]changed, error),
) error {
	ids, err := arg.ParseIDs(args)
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		changes, err := work(client, ids)
		if err != nil {
			return err
		}
		return a.reportChanges(ids, changes)
	})
}

// whyNot is the error of a job without its id, which the caller prints.
func whyNot(id string, err error) error {
	said, wrapped := strings.CutPrefix(err.Error(), "resuming job "+id+": ")
	said = strings.TrimPrefix(strings.TrimPrefix(said, holdfast.ErrConflict.Error()+": "), holdfast.ErrInvalid.Error()+": ")
	switch is, about := strings.CutPrefix(said, "job "+id+" "); {
	case errors.Is(err, holdfast.ErrNotFound):
		return &withoutIDError{err, "there is no such job in this namespace; it may have been removed after its retention"}
	case about:
		return &withoutIDError{err, "it " + is}
	case wrapped:
		return &withoutIDError{err, said}
	}
	return err
}

// withoutIDError is an error with another text.
type withoutIDError struct {
	error

	text string
}

func (e *withoutIDError) Error() string { return e.text }

func (e *withoutIDError) Unwrap() error { return e.error }

func (a verbs) reportChanges(ids []holdfast.ID, changes []changed) error {
	out := a.NewList()
	var failed []error
	for i, c := range changes {
		view := views.Changed{ID: ids[i].String()}
		if c.state != 0 {
			view.State = views.Text(c.state.String())
		}
		if c.err != nil {
			why := whyNot(view.ID, c.err)
			failed = append(failed, fmt.Errorf("job %s was not changed: %w", view.ID, why))
			view.Error = views.Text(app.Explain(why))
			if out.Format == output.FormatTable || out.ByID() {
				continue
			}
		}
		if err := out.Add(view, func() []string { return []string{"job " + view.ID + " " + c.words} }); err != nil {
			return err
		}
	}
	if err := out.End(); err != nil {
		return err
	}
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	for _, err := range failed {
		a.Complain(err)
	}
	return fmt.Errorf("%d of %d jobs were not changed", len(failed), len(ids))
}
