package dead

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// change is a change of all dead letters that flags select.
type change struct {
	filterFlags

	doing, done string // what it does, such as "removes" and "removed"

	dryRun  bool
	reason  string
	confirm app.Confirmation
}

func (c *change) add(cmd *cobra.Command) {
	c.filterFlags.add(cmd)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "say how many dead letters would be changed, and change none")
	cmd.Flags().StringVar(&c.reason, "reason", "", "record `TEXT` with the change")
	c.confirm.Add(cmd, fmt.Sprintf("before more than %d dead letters are changed", mostUnasked))
}

// run asks, changes and says what has happened.
func (a verbs) run(ctx context.Context, cmd *cobra.Command, c *change, fingerprints []string,
	do func(client *holdfast.Client, filter store.Filter, told func(dead.Result)) (dead.Report, error),
) error {
	filter, err := c.parse(cmd, fingerprints, a.Env.Now())
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		goOn, err := a.confirmed(ctx, client, filter, c)
		if !goOn || err != nil {
			return arg.InvalidIsUsage(err)
		}
		out := a.NewList()
		var unprinted error
		report, err := do(client, filter, func(r dead.Result) {
			if r.Err != nil {
				a.Complain(fmt.Errorf("job %s was not %s: %w", r.Job, c.done, r.Err))
			}
			if out.Format == output.FormatTable || unprinted != nil {
				return // a table has no line for each of a million jobs
			}
			view := views.Changed{ID: r.Job.String()}
			if r.State != 0 {
				view.State = views.Text(r.State.String())
			}
			if r.Err != nil {
				view.Error = views.Text(app.Explain(r.Err))
			}
			unprinted = out.Add(view, nil)
		})
		if err == nil || report.Done > 0 {
			a.Notef("%s %s.", output.Plural(report.Done, "dead letter"), c.done)
		}
		if err != nil {
			return out.BreakOff(arg.InvalidIsUsage(err))
		}
		if unprinted != nil {
			return unprinted
		}
		if err := out.End(); err != nil {
			return err
		}
		if report.Failed > 0 {
			return fmt.Errorf("%s not %s", output.Plural(report.Failed, "dead letter"), c.done)
		}
		return nil
	})
}

func (a verbs) redriveCommand(move bool) *cobra.Command {
	var c change
	var o dead.Options
	var rate, args, queue, in string
	cmd := &cobra.Command{
		Use:   "redrive [FINGERPRINT...]",
		Short: "Let jobs that failed run again, also with other args and at a rate",
		Long: `Let all dead letters run again that have one of the fingerprints, or that flags select, from the
last failure to the first: as they are, or with other args, in another queue, and at a rate. Each is
retried and changed together or not at all, and only if it has still failed. A durable job goes on
after its last step that succeeded, and keeps its args.`,
		Example: `  holdfast dead redrive 5b3453c731669487 --rate 50/s --dry-run
  holdfast dead redrive --kind mail --since 2h --to-queue slow --reason 'the server is back'`,
		Args:        arg.Takes(0, 100),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, fingerprints []string) error {
			c.doing, c.done = "redrives", "redriven"
			if move {
				if c.doing, c.done = "moves", "moved"; queue == "" {
					return arg.Usagef("dead move needs --to-queue, the queue in which the jobs run")
				}
			}
			if cmd.Flags().Changed("priority") && (o.Priority < 1 || o.Priority > 4) {
				return arg.Usagef("--priority %d: must be between 1 and 4", o.Priority)
			}
			if err := valid.Name("--to-queue", queue); queue != "" && err != nil {
				return arg.InvalidIsUsage(err)
			}
			if err := a.parseOptions(&o, rate, args, in); err != nil {
				return err
			}
			return a.run(ctx, cmd, &c, fingerprints,
				func(client *holdfast.Client, filter store.Filter, told func(dead.Result)) (dead.Report, error) {
					o.Told, o.Reason, o.Queue = told, c.reason, queue
					return dead.Redrive(ctx, client, filter, o)
				})
		}),
	}
	if move {
		cmd.Use, cmd.Short = "move [FINGERPRINT...]", "Let jobs that failed run again in another queue"
		cmd.Long = `Take all dead letters that have one of the fingerprints, or that flags select, to another queue,
where they run again. It is "dead redrive" that requires --to-queue.`
		cmd.Example = `  holdfast dead move 5b3453c731669487 --to-queue repair`
	}
	c.add(cmd)
	cmd.Flags().StringVar(&queue, "to-queue", "", "run them in `QUEUE` (default: their own)")
	cmd.Flags().IntVar(&o.Priority, "priority", 0, "run them with priority `N`, 1 to 4 (default: their own)")
	cmd.Flags().StringVar(&args, "args", "", "run them with these args, as `JSON` (default: their own)")
	cmd.Flags().StringVar(&rate, "rate", "", "let `N/UNIT` of them run again, such as 50/s or 10/m (default: as fast as it goes)")
	cmd.Flags().StringVar(&in, "in", "", "run them after `DURATION`, such as 10m (default: at once)")
	return cmd
}

// parseOptions reads a rate, args, and a time to wait, each of which may be "".
func (a verbs) parseOptions(o *dead.Options, rate, args, in string) (err error) {
	if o.Rate, err = parseRate(rate); err != nil {
		return err
	}
	if args != "" {
		checked, err := arg.CheckJSON([]byte(args))
		if err != nil {
			return arg.Usagef("--args: %v", err)
		}
		o.Args = func(*store.Record) (json.RawMessage, error) { return checked, nil }
	}
	if in == "" {
		return nil
	}
	d, err := arg.ParseDuration(in)
	switch {
	case err != nil:
		return fmt.Errorf("--in: %w", err)
	case d < 0:
		return arg.Usagef("--in %s is in the past", in)
	}
	o.RunAt = a.Env.Now().Add(d)
	return nil
}

// parseRate reads a rate such as 50/s, as jobs a second.
func parseRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	per, known := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	if err != nil || !known || !(n > 0 && n <= 1e6) {
		return 0, arg.Usagef("--rate %q is none; use a number of jobs a second, a minute or an hour, such as 50/s, 10/m or 100/h", text)
	}
	return n / per, nil
}

func (a verbs) purgeCommand() *cobra.Command {
	var c change
	cmd := &cobra.Command{
		Use:   "purge [FINGERPRINT...]",
		Short: "Remove jobs that failed, before their retention is over",
		Long: `Remove all dead letters that have one of the fingerprints, or that flags select, with all that
belongs to them, as "job delete" does. "dead export" writes them down before.`,
		Example: `  holdfast dead purge 5b3453c731669487 --dry-run
  holdfast dead purge --kind mail --before 30d --yes`,
		Args:        arg.Takes(0, 100),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, fingerprints []string) error {
			c.doing, c.done = "removes", "removed"
			return a.run(ctx, cmd, &c, fingerprints,
				func(client *holdfast.Client, filter store.Filter, told func(dead.Result)) (dead.Report, error) {
					return dead.Purge(ctx, client, filter, c.reason, told)
				})
		}),
	}
	c.add(cmd)
	return cmd
}

func (a verbs) exportCommand() *cobra.Command {
	var flags filterFlags
	cmd := &cobra.Command{
		Use:   "export [FINGERPRINT...]",
		Short: "Write jobs that failed as lines of JSON",
		Long: `Write all dead letters that have one of the fingerprints, or that flags select, to the standard
output, as lines of JSON, the last failure first: with their args and errors, without their attempts
and journals. What --redact hides is not in them: to keep what is then purged, use --redact none.`,
		Example: `  holdfast dead export --all --redact none >dead.jsonl
  holdfast dead export 5b3453c731669487 | jq -c .args`,
		Args:        arg.Takes(0, 100),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, fingerprints []string) error {
			filter, err := flags.parse(cmd, fingerprints, a.Env.Now())
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				to := a.HideLines(a.Env.Stdout)
				n, err := dead.Export(ctx, client, filter, to)
				if err == nil || n > 0 {
					a.Notef("%s written.", output.Plural(n, "dead letter"))
				}
				if hides, ok := to.(interface{ Hidden() int }); ok && hides.Hidden() > 0 {
					a.Notef("Values of %d of them are hidden, and not in the file; with --redact none all are written.", hides.Hidden())
				}
				return arg.InvalidIsUsage(err)
			})
		}),
	}
	flags.add(cmd)
	return cmd
}
