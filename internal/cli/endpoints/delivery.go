package endpoints

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) deliveriesCommand() *cobra.Command {
	var columns app.ColumnsFlag
	var states []string
	limit := 50
	cmd := &cobra.Command{
		Use:   "deliveries WEBHOOK",
		Short: "List the deliveries to a webhook",
		Long: `List the deliveries to a webhook, the newest first. Each is a job: "job get" shows its attempts, and
it is kept as long as other jobs.`,
		Example: `  holdfast webhook deliveries crm
  holdfast webhook deliveries crm --state failed`,
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			out, err := a.List(&columns)
			if err != nil {
				return err
			}
			in, err := arg.ParseStates("--state", states)
			if err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return arg.Usagef("--limit %d is not between 1 and 1000", limit)
			}
			return a.find(ctx, args[0], func(client *holdfast.Client, e *endpoint.Entry[endpoint.Webhook]) error {
				list, err := endpoint.ListDeliveries(ctx, client, e, in, "", limit)
				if err != nil {
					return err
				}
				for i := range list.Jobs {
					r := &list.Jobs[i]
					if err := out.Add(views.NewDelivery(r), func() []string { return views.DeliveryRow(a.Env.Now(), r) }); err != nil {
						return err
					}
				}
				if list.Next != "" && out.Format == output.FormatTable {
					a.Notef("Showing the newest %d; use --limit for more.", limit)
				}
				return out.End()
			})
		}),
	}
	flags := cmd.Flags()
	arg.TextsVar(flags, &states, "state", nil, "only those in `STATE`; repeatable, or a comma-separated list")
	flags.IntVar(&limit, "limit", limit, "list at most `N`, up to 1000")
	columns.Add(cmd, views.Delivery{}, views.DeliveryHeader...)
	return cmd
}

func (a verbs) redeliverCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "redeliver WEBHOOK ID",
		Short:       "Deliver an event to a webhook again",
		Long:        "Deliver an event to a webhook once more, with the same webhook-id. ID is the job of a delivery.",
		Example:     "  holdfast webhook redeliver crm 01a21d58-2bd4-7e4e-a52f-7f2cf4ca2706",
		Args:        arg.Takes(2, 2),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			of, err := arg.ParseID(args[1])
			if err != nil {
				return err
			}
			return a.find(ctx, args[0], func(client *holdfast.Client, e *endpoint.Entry[endpoint.Webhook]) error {
				id, err := endpoint.Redeliver(ctx, client, e, of)
				if err != nil {
					return err
				}
				return a.sent(id)
			})
		}),
	}
}

func (a verbs) testCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "test WEBHOOK",
		Short:       "Send a webhook a test",
		Long:        "Send a webhook an event webhook.test, and print the job that delivers it.",
		Example:     "  holdfast webhook test crm",
		Args:        arg.Takes(1, 1),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.find(ctx, args[0], func(client *holdfast.Client, e *endpoint.Entry[endpoint.Webhook]) error {
				id, err := endpoint.SendTest(ctx, client, e)
				if err != nil {
					return err
				}
				return a.sent(id)
			})
		}),
	}
}

// sent prints the job of a delivery.
func (a verbs) sent(id holdfast.ID) error {
	return a.Object(views.SentDelivery{ID: id.String()}, func() { a.Printf("%s", id) })
}
