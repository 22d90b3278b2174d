package retentions

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/retention"
	"github.com/holdfastdev/holdfast/store"
)

// Command is the command on retention.
func Command(a *app.App) *cobra.Command {
	v := verbs{a}
	cmd := app.Group("retention", "Say for how long finished jobs of some queues are kept, and see what was removed",
		`Set, show and delete classes of retention, which queues name: "queue set QUEUE --retention CLASS". A
class belongs to the database, and queues of all namespaces may name it. Jobs of other queues are
kept as the programs say that work in the database: 24 hours, and 7 days if they failed.`,
		`  holdfast retention set short --completed 1h --failed 7d
  holdfast queue set metrics --retention short
  holdfast retention removed --queue metrics`)
	cmd.AddCommand(v.setCommand(), v.listCommand(), v.getCommand(), v.deleteCommand(), v.removedCommand())
	return cmd
}

func (a verbs) setCommand() *cobra.Command {
	texts := map[string]*string{"completed": new(string), "failed": new(string), "cancelled": new(string)}
	cmd := &cobra.Command{
		Use:   "set CLASS",
		Short: "Make a class of retention what the flags say",
		Long: `Make a class of retention what the flags say: one that is there is replaced as a whole, and what is
not given is as in other queues. It holds within a minute for all finished jobs of the queues that
name the class, also for those that had finished before: a shorter time removes jobs.`,
		Example: `  holdfast retention set short --completed 1h --failed 7d --cancelled 1d
  holdfast retention set audit --completed forever --failed forever --cancelled forever`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			class := store.RetentionClass{Name: args[0]}
			for name, keep := range map[string]*time.Duration{
				"completed": &class.Completed, "failed": &class.Failed, "cancelled": &class.Cancelled,
			} {
				if !cmd.Flags().Changed(name) {
					continue
				}
				d, err := arg.ParseKeep(*texts[name])
				if err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
				if d > 0 && d < store.ShortestRetention {
					return arg.Usagef("--%s: %v is too short; it is %v or more, or forever", name, d, store.ShortestRetention)
				}
				if d == 0 {
					return arg.Usagef("--%s is nothing; leave it out to keep those jobs as in other queues", name)
				}
				*keep = d
			}
			if class.Completed == 0 && class.Failed == 0 && class.Cancelled == 0 {
				return arg.Usagef("say for how long the class keeps jobs, with --completed, --failed or --cancelled; " +
					`"holdfast retention delete" deletes one`)
			}
			set := func(ctx context.Context, client *holdfast.Client) error {
				_, err := retention.Set(ctx, client, class)
				return err
			}
			if err := a.Rehearse(ctx, set); err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				is, err := retention.Set(ctx, client, class)
				if err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.show(&is)
			})
		}),
	}
	cmd.Flags().StringVar(texts["completed"], "completed", "", "keep jobs that completed for `DURATION`, such as 1h or 30d, or forever")
	cmd.Flags().StringVar(texts["failed"], "failed", "", "keep jobs that failed, dead letters, for `DURATION`, or forever")
	cmd.Flags().StringVar(texts["cancelled"], "cancelled", "", "keep jobs that were cancelled for `DURATION`, or forever")
	return cmd
}

func (a verbs) show(c *store.RetentionClass) error {
	return a.Object(views.NewRetention(c), func() {
		row := views.RetentionRow(a.Env.Now(), c)
		a.Printf("retention %s: completed %s, failed %s, cancelled %s; set %s", row[0], row[1], row[2], row[3], row[4])
	})
}

func (a verbs) listCommand() *cobra.Command {
	var columns app.ColumnsFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the classes of retention",
		Long: `List the classes of retention of the database, by name, and for how long each keeps jobs by how they
ended.`,
		Example: `  holdfast retention list
  holdfast retention list --output json | jq -r '.[].name'`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				classes, err := retention.List(ctx, client)
				if err != nil {
					return out.BreakOff(err)
				}
				for i := range classes {
					c := &classes[i]
					if err := out.Add(views.NewRetention(c), func() []string { return views.RetentionRow(a.Env.Now(), c) }); err != nil {
						return err
					}
				}
				if len(classes) == 0 && out.Format == output.FormatTable {
					a.Notef("No classes; all queues keep their jobs as the programs say. \"holdfast retention set\" makes one.")
				}
				return out.End()
			})
		}),
	}
	columns.Add(cmd, views.Retention{}, views.RetentionHeader...)
	return cmd
}

func (a verbs) getCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "get CLASS",
		Short:       "Show a class of retention",
		Long:        `Show for how long a class keeps jobs, by how they ended, and when and by whom it was last changed.`,
		Example:     `  holdfast retention get short`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				c, err := retention.Get(ctx, client, args[0])
				if err != nil {
					return err
				}
				return a.show(&c)
			})
		}),
	}
}

func (a verbs) deleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "delete CLASS",
		Short: "Delete a class of retention that no queue names",
		Long: `Delete a class of retention. While a queue names it, of whichever namespace, it is not deleted:
"queue set QUEUE --unset retention" comes first.`,
		Example: `  holdfast queue set metrics --unset retention
  holdfast retention delete short`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if err := retention.Delete(ctx, client, args[0]); err != nil {
					return arg.InvalidIsUsage(err)
				}
				return a.Object(views.DeletedRetention{Name: args[0], Deleted: true}, func() {
					a.Printf("deleted retention %s", output.OneLine(args[0]))
				})
			})
		}),
	}
}

// Names are the names of the classes, whatever was given before.
func Names(ctx context.Context, client *holdfast.Client, _ []string) (found []string, err error) {
	all, err := retention.List(ctx, client)
	for i := range all {
		found = append(found, all[i].Name)
	}
	return found, err
}
