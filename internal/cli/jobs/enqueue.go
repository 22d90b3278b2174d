package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
)

func (a verbs) enqueueCommand() *cobra.Command {
	f := enqueueFlags{from: "--args"}
	cmd := &cobra.Command{
		Use:   "enqueue KIND [ARGS]",
		Short: "Enqueue a job, or one job for each line of a file",
		Long: `Enqueue a job, or one job for each line of a file. The command returns once the job is stored.
ARGS is JSON, @FILE, or - for standard input; the default is {}.

With --file, each line holds the args of one job; empty lines are skipped. Jobs are stored in
batches of up to 1000, one transaction each. If a line is not JSON, contains a NUL character or is
too large, the command stores nothing from that line's batch, prints the line to continue from, and
stops. With --keep-going it skips such lines, stores the rest, and exits with code 1.

--unique takes a comma-separated list that defines when two jobs are duplicates. A duplicate is not
enqueued while the first job is unfinished:
  kind          same kind
  args          same kind and args
  field:NAME    same kind and same value of a field of the args, such as customer or address.city
  queue         also the same queue
  period:1h     also due in the same hour, or any other period
  key:TEXT      same text, whatever the kind
  while:STATE   also while the first job is in this state, such as completed

"holdfast dev" and "holdfast worker" run two built-in kinds. exec runs a command:
` + fieldsOf("exec") + `http sends a request:
` + fieldsOf("http"),
		Example: `  holdfast job enqueue exec '{"command":["gzip","-kf","big.log"]}' --wait
  holdfast job enqueue http '{"method":"POST","url":"https://example.com/hook","body":{"n":1}}' --in 10m --max-attempts 5
  holdfast job enqueue report @report.json --unique args,period:24h --tag nightly
  find . -name '*.log' | jq -cR '{command:["gzip",.]}' | holdfast job enqueue exec --file -`,
		Args:        arg.Takes(1, 2),
		Annotations: app.PrintsIDs(app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet)),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			return a.enqueue(ctx, cmd, args, &f)
		}),
	}
	f.add(cmd)
	return cmd
}

// fieldsOf lists the fields of the args of a built-in kind, for the help.
func fieldsOf(kind string) string {
	var lines strings.Builder
	for _, f := range builtin.Fields(kind) {
		fmt.Fprintf(&lines, "  %-9s %s\n", f.Name, f.Help)
	}
	return lines.String()
}

// enqueue checks what needs no database, and then enqueues.
func (a verbs) enqueue(ctx context.Context, cmd *cobra.Command, args []string, f *enqueueFlags) error {
	if len(args) > 1 {
		if cmd.Flags().Changed("args") || cmd.Flags().Changed("file") {
			return arg.Usagef("ARGS, --args and --file cannot be used together")
		}
		f.args, f.from = args[1], "ARGS"
	}
	opts, err := f.options(cmd.Flags().Changed, a.Env.Now())
	if err != nil {
		return err
	}
	err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		_, err := anyKind(args[0]).Enqueue(ctx, client, json.RawMessage("{}"), opts...)
		return err
	})
	if err != nil {
		return err
	}
	trace, err := f.trace.Of(a.App, cmd)
	if err != nil {
		return err
	}
	a.InTrace(trace)
	if f.file != "" {
		return a.enqueueFile(ctx, args[0], f, opts)
	}
	return a.enqueueOne(ctx, args[0], f, opts)
}

func (a verbs) enqueueOne(ctx context.Context, kind string, f *enqueueFlags, opts []holdfast.EnqueueOption) error {
	args, err := arg.ReadJSON(ctx, a.Env.Stdin, f.from, f.args)
	if err != nil {
		return err
	}
	if err := f.checkFields(args); err != nil {
		return arg.Usagef("--unique: %w", err)
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if err := a.noteLimit(ctx, client, f.limitKey); err != nil {
			return err
		}
		job, err := anyKind(kind).Enqueue(ctx, client, args, opts...)
		if err != nil {
			return arg.InvalidIsUsage(err)
		}
		if err := builtin.CheckArgs(kind, args); err != nil { // a user's program may have a kind of that name
			a.Notef("The built-in kind %s will reject these args: %s", kind, output.OneLine(err.Error()))
		}
		words := "enqueued job " + job.ID.String()
		switch {
		case job.Replaced:
			words = "job " + job.ID.String() + " already exists and had not started: replaced its args, metadata and run time"
		case job.Differs:
			words = "job " + job.ID.String() + " already holds the key and was enqueued with other args; nothing was enqueued"
		case job.Existing:
			words = "job " + job.ID.String() + " already exists; nothing was enqueued"
		}
		if f.wait {
			a.Notef("%s", words)
			return a.wait(ctx, client, job.ID, f.patience)
		}
		view := views.Enqueued{ID: job.ID.String(), Existing: job.Existing, Replaced: job.Replaced, Differs: job.Differs}
		return a.Object(view, func() { a.Printf("%s", words) })
	})
}

// noteLimit tells of a limit per key that is not there: nothing bounds its jobs.
func (a verbs) noteLimit(ctx context.Context, client *holdfast.Client, limitKey string) error {
	if limitKey == "" {
		return nil
	}
	name, _, _ := strings.Cut(limitKey, "=")
	l, err := limit.Get(ctx, client, name)
	if err != nil && !errors.Is(err, holdfast.ErrNotFound) {
		return err
	}
	if !l.PerKey {
		a.Notef("There is no limit per key %s: while there is none, nothing bounds the job; "+
			"\"holdfast limit set %s --per-key --capacity N\" makes it.",
			output.OneLine(name), output.OneLine(name))
	}
	return nil
}
