package databases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// needs is what a database has to have to be healthy.
type needs struct {
	nodes   int
	maxLag  time.Duration
	timeout time.Duration
}

func (a verbs) healthCommand() *cobra.Command {
	var n needs
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check that jobs are worked on",
		Long: `Check that the database answers, that its schema is current, that nodes which serve the namespace
are alive, and, with --max-lag, that no job of a queue that is not paused is available for longer.

The exit code is 0 if all is well, and 1 otherwise: a line on standard error says why. A node that
was killed counts as alive until its heartbeat is overdue; once it has been silent for half of its
dead-after a warning on standard error says so, and the exit code is 0 all the same.`,
		Example: `  holdfast health
  holdfast health --nodes 2 --max-lag 1m --database postgres://localhost/app`,
		Args:        arg.Takes(0, 0),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			switch {
			case n.nodes < 0:
				return arg.Usagef("--nodes %d: must be 0 or more", n.nodes)
			case n.maxLag < 0 || n.maxLag == 0 && cmd.Flags().Changed("max-lag"):
				return arg.Usagef("--max-lag must be more than 0")
			case n.timeout <= 0:
				return arg.Usagef("--timeout must be more than 0")
			}
			return a.health(ctx, n)
		}),
	}
	cmd.Flags().IntVar(&n.nodes, "nodes", 1, "how many nodes have to be alive: `N`, or 0 for none")
	cmd.Flags().DurationVar(&n.maxLag, "max-lag", 0, "how long a job may be available: `DURATION` (default: for ever)")
	cmd.Flags().DurationVar(&n.timeout, "timeout", 10*time.Second, "how long the database may take to answer: `DURATION`")
	return cmd
}

// health prints what it has found, and fails if something is wrong.
func (a verbs) health(ctx context.Context, n needs) error {
	source, err := a.Source(dsn.NoMigrate())
	if err != nil {
		return err
	}
	view := views.Health{Database: source.String(), Namespace: a.Namespace, Problems: []string{}, Warnings: []string{}}
	limited, cancel := context.WithTimeoutCause(ctx, n.timeout, fmt.Errorf("the database did not answer within %v", n.timeout))
	defer cancel()
	if err := a.look(limited, &view, n); err != nil {
		if ctx.Err() != nil {
			return err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = context.Cause(limited)
		}
		view.Problems = append(view.Problems, app.Explain(err))
	}
	view.Healthy = len(view.Problems) == 0
	err = a.Object(view, func() {
		if view.Healthy {
			a.Printf("healthy: %s", a.found(&view))
		} else {
			a.Printf("not healthy: %s", a.found(&view))
		}
	})
	for _, warning := range view.Warnings {
		a.Notef("Warning: %s.", output.OneLine(warning))
	}
	if err != nil || view.Healthy {
		return err
	}
	return app.ExitWith(app.ExitError, output.OneLine(strings.Join(view.Problems, "; ")))
}

// found is what a look has found, for people.
func (a verbs) found(view *views.Health) string {
	text := fmt.Sprintf("schema version %d, %s alive", view.Schema, output.Plural(view.Nodes, "node"))
	if view.Queue != "" {
		text += fmt.Sprintf(", jobs of queue %s wait for %v", view.Queue, time.Duration(view.Lag).Round(time.Millisecond))
	}
	return text
}

// look asks the database, and notes what is wrong. An error is that the database did not answer, or
// cannot be used.
func (a verbs) look(ctx context.Context, view *views.Health, n needs) error {
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		source, err := a.Source(dsn.NoMigrate())
		if err != nil {
			return err
		}
		schema, err := source.Schema(ctx)
		if err != nil {
			return err
		}
		view.Schema = schema.Version
		now := a.Env.Now()
		if err := lookAtNodes(ctx, client, view, now); err != nil {
			return err
		}
		if view.Nodes < n.nodes {
			are := map[bool]string{true: "is", false: "are"}[view.Nodes == 1]
			view.Problems = append(view.Problems, fmt.Sprintf("%s %s alive in namespace %q, not %d; \"holdfast node list\" lists all",
				output.Plural(view.Nodes, "node"), are, client.Namespace(), n.nodes))
		}
		queues, err := client.Queues(ctx)
		if err != nil {
			return err
		}
		var longest time.Duration
		for i := range queues {
			q := &queues[i]
			lag := now.Sub(q.OldestDue)
			if q.OldestDue.IsZero() || !q.PausedAt.IsZero() || lag <= 0 {
				continue
			}
			if lag > longest {
				longest = lag
				view.SetLag(lag, q.Name)
			}
			if n.maxLag > 0 && lag > n.maxLag {
				view.Problems = append(view.Problems, fmt.Sprintf("a job of queue %s is available for %v, longer than %v",
					q.Name, lag.Round(time.Millisecond), n.maxLag))
			}
		}
		return nil
	})
}

// lookAtNodes counts the nodes that are alive, and warns of those that have been silent.
func lookAtNodes(ctx context.Context, client *holdfast.Client, view *views.Health, now time.Time) error {
	nodes, err := client.Nodes(ctx)
	for i := range nodes {
		if views.Serves(&nodes[i], client.Namespace(), now) {
			view.Nodes++
		}
		if silent := views.SilentText(&nodes[i], client.Namespace(), now); silent != "" {
			view.Warnings = append(view.Warnings, silent)
		}
	}
	return err
}
