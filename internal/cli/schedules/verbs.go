package schedules

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/schedule"
)

// verbs has the verbs on schedules.
type verbs struct{ *app.App }

// Names are the names of the schedules that are not in args.
func Names(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	all, err := schedule.List(ctx, client, "", app.MaxPage)
	given := map[string]bool{}
	for _, name := range args {
		given[name] = true
	}
	var found []string
	for i := range all {
		if !given[all[i].Name] {
			found = append(found, all[i].Name)
		}
	}
	return found, err
}

// uses are the global flags of a verb whose output has names or ids.
func uses() map[string]string {
	return app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet))
}

// explain says what to do about an error of the library about a schedule.
func explain(client *holdfast.Client, name string, err error) error {
	if errors.Is(err, holdfast.ErrNotFound) {
		return fmt.Errorf("no such schedule in namespace %q: %s; \"holdfast schedule list\" lists the schedules",
			client.Namespace(), output.OneLine(name))
	}
	return arg.InvalidIsUsage(err)
}

// changed prints the result of a change of several schedules, one by one: those that cannot be
// changed are named, and the others are changed.
type changed struct {
	verbs

	out    *output.List
	failed []error
}

func (a verbs) newChanged() *changed { return &changed{verbs: a, out: a.NewList()} }

// add prints the result for one schedule: a view, or in a table words.
func (c *changed) add(view any, words string, err error) error {
	if err != nil {
		c.failed = append(c.failed, err)
	}
	switch {
	case c.out.Format != output.FormatTable && view != nil:
		return c.out.Add(view, nil)
	case c.out.Format == output.FormatTable && err == nil:
		c.Printf("%s", words)
	}
	return nil
}

// end ends the output, and returns the errors; what is a phrase as in "2 of 3 schedules were not
// paused".
func (c *changed) end(of int, done string) error {
	if err := c.out.End(); err != nil || len(c.failed) < 2 {
		return errors.Join(append(c.failed, err)...)
	}
	for _, err := range c.failed {
		c.Complain(err)
	}
	return fmt.Errorf("%d of %d schedules were not %s", len(c.failed), of, done)
}
