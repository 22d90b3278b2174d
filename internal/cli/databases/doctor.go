package databases

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/doctor"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func (a verbs) doctorCommand() *cobra.Command {
	var failOn string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps jobs from running, or makes them slow or unsafe",
		Long: `Look at the database and at what Holdfast has in it, in all namespaces: the schema, the settings
and the rights that cost durability or speed, transactions that are open for long, notifications,
the disk, clocks, nodes that are silent, and jobs that no node serves. Each finding that is not ok
says what to do. Nothing is changed, and nothing is migrated.

The exit code is 1 if there is a problem, or with --fail-on warning also if there is a warning.`,
		Example: `  holdfast doctor
  holdfast doctor --database postgres://localhost/app --fail-on warning
  holdfast doctor --output json | jq -r '.findings[] | select(.severity == "problem").text'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			worst := map[string]store.Severity{"warning": store.Warning, "problem": store.Problem}[failOn]
			switch {
			case worst == 0:
				return arg.Usagef("--fail-on %q: must be warning or problem", failOn)
			case timeout <= 0:
				return arg.Usagef("--timeout must be more than 0")
			}
			limited, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("the examination was not over within %v", timeout))
			defer cancel()
			return a.examine(limited, worst)
		}),
	}
	cmd.Flags().StringVar(&failOn, "fail-on", "problem", "from which `SEVERITY` on to fail: warning or problem")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long all of it may take: `DURATION`")
	return cmd
}

func (a verbs) examine(ctx context.Context, failFrom store.Severity) error {
	source, err := a.Source(dsn.NoMigrate())
	if err != nil {
		return err
	}
	report, err := doctor.Examine(ctx, source)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if len(report.Findings) == 0 {
			return err
		}
		report.Findings = append(report.Findings, store.Finding{
			Check: "examination", Severity: store.Problem, Text: "it could not go on: " + app.Explain(err), Do: "mend this, and look again",
		})
	}
	worst := report.Worst()
	view := views.NewDoctor(source.String(), worst, report.Findings)
	if err := a.Object(view, func() { a.printFindings(report.Findings) }); err != nil {
		return err
	}
	if worst < failFrom {
		return nil
	}
	n := 0
	for _, f := range report.Findings {
		if f.Severity >= failFrom {
			n++
		}
	}
	return app.ExitWith(app.ExitError, output.Plural(n, "finding")+" to look after")
}

func (a verbs) printFindings(findings []store.Finding) {
	table := a.NewTable(2)
	for _, f := range findings {
		table.Add(f.Severity.String(), f.Check, output.OneLine(f.Text))
		if f.Do != "" {
			table.Add("", "", "→ "+output.OneLine(f.Do))
		}
	}
	table.Flush()
}
