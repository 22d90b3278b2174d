package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// waitForState waits until a job is in one of the states, and prints which. Its errors have the
// exit codes documented for "job wait".
func (a verbs) waitForState(
	ctx context.Context, client *holdfast.Client, id holdfast.ID, states []store.State, timeout time.Duration,
) error {
	waiting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	stop := a.printReason(waiting, client, id)
	record, err := stateOf(waiting, client, id, states)
	stop()
	names := output.Or(arg.StateNames(states))
	switch {
	case err == nil && slices.Contains(states, record.State):
		return a.WriteJSON(record.State.String(), "")
	case ctx.Err() == nil && waiting.Err() != nil:
		return app.ExitWith(app.ExitTimeout, fmt.Sprintf("job %s is not %s after %v; it continues", id, names, timeout)+a.whyNot(ctx, client, id))
	case errors.Is(err, holdfast.ErrNotFound):
		return fmt.Errorf("job %s was removed before it was %s", id, names)
	case err != nil:
		return err
	}
	text := fmt.Sprintf("job %s is %s and will not be %s", id, record.State, names)
	if record.State != store.Completed && record.Error != "" {
		text += ": " + strings.TrimPrefix(record.Error, "holdfast: ")
	}
	return app.ExitWith(app.ExitError, output.OneLine(text))
}

// stateOf returns a job once it is in one of the states or has finished. An end is told by the
// client's wait; other states are not announced, so between two looks it waits for the end only for
// an interval that grows. An outage of the database only takes time.
func stateOf(ctx context.Context, client *holdfast.Client, id holdfast.ID, states []store.State) (store.Record, error) {
	onlyEnds := !slices.ContainsFunc(states, func(s store.State) bool { return !s.Finished() })
	for interval := app.FirstLook; ; interval = min(2*interval, app.LastLook) {
		record, err := client.Get(ctx, id)
		switch {
		case err == nil && (record.State.Finished() || slices.Contains(states, record.State)):
			return record, nil
		case err == nil && onlyEnds:
			err = endOf(ctx, client, id)
		case err == nil:
			pause, cancel := context.WithTimeout(ctx, interval)
			err = endOf(pause, client, id)
			if pause.Err() != nil {
				err = nil
			}
			cancel()
		}
		switch {
		case ctx.Err() != nil:
			return record, ctx.Err()
		case errors.Is(err, holdfast.ErrUnavailable):
			_ = app.PauseFor(ctx, interval) // the next look finds out
		case err != nil:
			return record, err
		}
	}
}

// endOf waits for the end of a job, whichever it is.
func endOf(ctx context.Context, client *holdfast.Client, id holdfast.ID) error {
	var ended *holdfast.JobError
	if err := client.Wait(ctx, id); !errors.As(err, &ended) {
		return err
	}
	return nil
}
