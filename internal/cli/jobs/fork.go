package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) jobForkCommand() *cobra.Command {
	var from, args, reason, forkID string
	cmd := &cobra.Command{
		Use:   "fork ID",
		Short: "Repeat a durable job from a step, as a new job",
		Long: `Create a new job that keeps the journal of a durable job up to a step, and runs that step and
everything after it again. The old job does not change.

Give the step by name or, if several steps share a name, by path; "job journal" shows both. A
callback has the name that the job gave it. The first step has path 1.`,
		Example: `  holdfast job fork ` + arg.ExampleID + ` --from ship --reason "it went to the wrong address"
  holdfast job fork ` + arg.ExampleID + ` --from 1 --args '{"to":"bob"}' --output json | jq -r .id`,
		Args:        arg.Takes(1, 1),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, ids []string) error {
			id, err := arg.ParseID(ids[0])
			if err != nil {
				return err
			}
			if from == "" {
				return arg.Usagef("--from is required: the step to repeat; \"holdfast job journal %s\" lists the steps", id)
			}
			f := holdfast.Fork{From: from}
			if cmd.Flags().Changed("args") {
				payload, err := arg.ReadJSON(ctx, a.Env.Stdin, "--args", args)
				if err != nil {
					return err
				}
				f.Args = payload
			}
			if cmd.Flags().Changed("id") {
				if f.ID, err = arg.ParseNewID("id", forkID); err != nil {
					return err
				}
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				return a.fork(ctx, client, id, reason, f)
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "repeat from `STEP`, given by name or path; required")
	flags.StringVar(&args, "args", "", "new args: `JSON`, @FILE, or - for standard input (default: the args of the old job)")
	flags.StringVar(&forkID, "id", "", "`ID` of the new job, a UUIDv7; forking with the same id again does nothing")
	flags.StringVar(&reason, "reason", "", "`TEXT` to record with the jobs as the reason")
	return arg.ByKey(cmd)
}

func (a verbs) fork(
	ctx context.Context, client *holdfast.Client, id holdfast.ID, reason string, f holdfast.Fork,
) error {
	from := f.From
	var err error
	if f.From, err = stepOf(ctx, client, id, from); err != nil {
		return err
	}
	forked, err := client.Fork(ctx, reason, id, f)
	switch {
	case errors.Is(err, holdfast.ErrNotFound):
		return fmt.Errorf("job %s has no step %q in its journal; \"holdfast job journal %s\" lists the steps", id, from, id)
	case err != nil:
		return err
	}
	view := views.Forked{ID: forked.String(), ForkedFrom: id.String()}
	if steps, err := repeated(ctx, client, id, f.From); err == nil && len(steps) > 0 { // the fork has happened, even if this fails
		a.Notef("These run again: %s.", output.OneLine(strings.Join(steps, ", ")))
	}
	return a.Object(view, func() { a.Printf("job %s repeats job %s from %s", forked, id, output.OneLine(from)) })
}

// stepOf returns what a journal calls a step that a user has named. It knows callbacks by their
// tokens; their names are in the data. A name that is not there is returned as it is.
func stepOf(ctx context.Context, client *holdfast.Client, id holdfast.ID, from string) (string, error) {
	token := ""
	for after := int64(0); ; {
		entries, err := client.JournalEntries(ctx, id, after, app.MaxPage)
		if err != nil {
			return "", err
		}
		for i := range entries {
			switch e := &entries[i]; {
			case e.Name == from || e.Path == from:
				return from, nil
			case token == "" && e.Kind == "callback" && actOf(e) == "callback "+from:
				token = e.Name
			}
		}
		if len(entries) < app.MaxPage {
			return cmp.Or(token, from), nil
		}
		after = entries[len(entries)-1].Seq
	}
}

// repeated names what a fork repeats that has effects elsewhere: the steps, children and callbacks
// from a step on.
func repeated(ctx context.Context, client *holdfast.Client, id holdfast.ID, from string) (names []string, err error) {
	const most = 20
	begun := false
	for after := int64(0); ; {
		entries, err := client.JournalEntries(ctx, id, after, app.MaxPage)
		if err != nil {
			return nil, err
		}
		for i := range entries {
			e := &entries[i]
			begun = begun || e.Name == from || e.Path == from
			acts := e.Kind == "step" || e.Kind == "child" || e.Kind == "callback" || e.Kind == "compensated"
			name := actOf(e)
			if !begun || !acts || name == "" || slices.Contains(names, name) {
				continue
			}
			if len(names) == most {
				return append(names, "…"), nil
			}
			names = append(names, name)
		}
		if len(entries) < app.MaxPage {
			return names, nil
		}
		after = entries[len(entries)-1].Seq
	}
}

// actOf names what an entry did. A callback's entry is named by its token, which is a secret, so
// its name is read from the data.
func actOf(e *holdfast.JournalEntry) string {
	if e.Kind != "callback" {
		return e.Name
	}
	var callback struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(e.Data, &callback) != nil {
		return "a callback" // a newer version may name it otherwise
	}
	return "callback " + callback.Name
}
