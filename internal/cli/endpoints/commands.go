package endpoints

import (
	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// Commands are the commands on endpoints and on webhooks.
func Commands(a *app.App) []*cobra.Command {
	v := verbs{a}
	endpoints := app.Group("endpoint", "Let HTTP endpoints work the jobs of kinds",
		`Create, show, change and delete push endpoints. Servers send an endpoint the jobs of the kind that
is its name, signed, and what it answers ends them.`,
		`  holdfast endpoint create mail --url https://example.com/jobs
  holdfast endpoint list`)
	endpoints.AddCommand(v.createCommand(), v.listCommand(), v.getCommand(), v.updateCommand(),
		rotateCommand(v, endpoints, "KIND", v.toldEndpoint), deleteCommand[endpoint.Push](v, endpoints, "KIND"))
	webhooks := app.Group("webhook", "Tell HTTP endpoints of events",
		`Create, show, change, test and delete webhooks. A webhook is told of events, by signed requests.
Each delivery is a job.`,
		`  holdfast webhook create crm --url https://example.com/hook --event job.failed
  holdfast webhook deliveries crm`)
	webhooks.AddCommand(v.createWebhookCommand(), v.listWebhooksCommand(), v.getWebhookCommand(), v.updateWebhookCommand(),
		rotateCommand(v, webhooks, "WEBHOOK", v.toldWebhook), deleteCommand[endpoint.Webhook](v, webhooks, "WEBHOOK"),
		v.deliveriesCommand(), v.redeliverCommand(), v.testCommand())
	return []*cobra.Command{endpoints, webhooks}
}
