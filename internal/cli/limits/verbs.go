package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// verbs has the verbs on limits.
type verbs struct{ *app.App }

// uses are the global flags of a verb whose output has names.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// explain says what to do about an error of the library about a limit.
func explain(client *holdfast.Client, name string, err error) error {
	if held, ok := errors.AsType[*store.HeldError](err); ok {
		return fmt.Errorf("limit %s was not deleted: %s; wait until their jobs have ended, or use --force", output.OneLine(name),
			views.HoldersText(held.Holders))
	}
	if errors.Is(err, holdfast.ErrNotFound) {
		return fmt.Errorf("no such limit in namespace %q: %s; \"holdfast limit list\" lists the limits", client.Namespace(), output.OneLine(name))
	}
	return arg.InvalidIsUsage(err)
}

func (a verbs) show(l *store.Limit) error {
	return a.Object(views.NewLimit(l), func() { views.PrintLimit(&a.Printer, a.Env.Now(), l) })
}

// set sets a limit, which is to be there already unless a capacity or a rate is given.
func (a verbs) set(ctx context.Context, name string, opts []limit.Option, isWhole bool) error {
	err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		if !isWhole {
			// As little as is needed for the options to be right.
			opts := append([]limit.Option{limit.Capacity(1 << 20), limit.Rate(1, time.Second)}, opts...)
			_, err := limit.Set(ctx, client, name, opts...)
			return err
		}
		_, err := limit.Set(ctx, client, name, opts...)
		return err
	})
	if err != nil {
		return arg.InvalidIsUsage(err)
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if !isWhole {
			if _, err := limit.Get(ctx, client, name); err != nil {
				return explain(client, name, err)
			}
		}
		l, err := limit.Set(ctx, client, name, opts...)
		if err != nil {
			return explain(client, name, err)
		}
		return a.Object(views.NewLimit(&l), func() { a.Printf("%s", views.LimitText(&l)) })
	})
}
