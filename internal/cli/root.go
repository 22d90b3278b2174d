package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/access"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/archives"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/attributes"
	"github.com/holdfastdev/holdfast/internal/cli/audits"
	"github.com/holdfastdev/holdfast/internal/cli/batches"
	"github.com/holdfastdev/holdfast/internal/cli/bench"
	"github.com/holdfastdev/holdfast/internal/cli/contexts"
	"github.com/holdfastdev/holdfast/internal/cli/counts"
	"github.com/holdfastdev/holdfast/internal/cli/databases"
	"github.com/holdfastdev/holdfast/internal/cli/dead"
	"github.com/holdfastdev/holdfast/internal/cli/endpoints"
	"github.com/holdfastdev/holdfast/internal/cli/feed"
	"github.com/holdfastdev/holdfast/internal/cli/jobs"
	"github.com/holdfastdev/holdfast/internal/cli/limits"
	"github.com/holdfastdev/holdfast/internal/cli/mcp"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
	"github.com/holdfastdev/holdfast/internal/cli/operations"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/queues"
	"github.com/holdfastdev/holdfast/internal/cli/retentions"
	"github.com/holdfastdev/holdfast/internal/cli/schedules"
)

func (a verbs) rootCommand() *cobra.Command {
	root := app.Group("holdfast", "Run durable jobs on the database you already have",
		`Run durable jobs on the database you already have: a SQLite file to start with, PostgreSQL when one
machine is not enough.

To get started, run "holdfast dev".`,
		`  holdfast dev
  holdfast job enqueue exec '{"command":["echo","hello"]}' --wait
  holdfast job list --state failed
  HOLDFAST_DATABASE=postgres://localhost/app holdfast queue list
  HOLDFAST_TOKEN="$token" holdfast queue list --server https://jobs.example.com`)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(arg.FlagError)
	root.PersistentPreRunE = a.check
	root.SetUsageFunc(usage)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		hideUnused(cmd)
		help(cmd, args)
	})

	flags := root.PersistentFlags()
	flags.StringVarP(&a.Database, app.FlagDatabase, "d", "",
		"`DATABASE` to use: a file, sqlite:PATH or postgres://… (default: $"+app.EnvDatabase+", or "+app.DefaultDatabase+")")
	a.AddServerFlags(flags)
	a.AddContextFlags(flags)
	flags.StringVarP(&a.Namespace, app.FlagNamespace, "n", "",
		"`NAMESPACE` to work in (default: $"+app.EnvNamespace+", or "+app.DefaultNamespace+")")
	flags.StringVarP(&a.Asked, app.FlagOutput, "o", "",
		"output `FORMAT`: table, json, jsonl, yaml, id or name (default: table on a terminal, json elsewhere)")
	flags.BoolVarP(&a.Quiet, app.FlagQuiet, "q", false,
		"print no notes, and of jobs, queues, schedules and nodes only the ids unless --output is given")
	a.AddPayloadFlags(flags)
	app.Variable(flags, app.FlagDatabase, app.EnvDatabase)
	app.Variable(flags, app.FlagNamespace, app.EnvNamespace)
	version := root.Flags().Bool("version", false, "print the version") // no -v, which often means verbose
	showHelp := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			if a.Asked == "" {
				a.Asked = output.FormatTable // one line, as usual for --version
			}
			return a.printVersion()
		}
		return showHelp(cmd, args)
	}

	a.addCommands(root)
	addAliases(root)
	arg.ReadDurations(root)
	a.completions(root)
	return root
}

// addCommands adds all commands.
func (a verbs) addCommands(root *cobra.Command) {
	root.AddCommand(jobs.Commands(a.App)...)
	root.AddCommand(queues.Commands(a.App, jobs.DrainCommand(a.App), limits.QueueCommand(a.App), limits.RestCommand(a.App))...)
	root.AddCommand(schedules.Command(a.App), limits.Command(a.App), batches.Command(a.App), operations.Command(a.App))
	root.AddCommand(dead.Command(a.App), feed.Command(a.App), counts.Command(a.App), retentions.Command(a.App), archives.Command(a.App),
		attributes.Command(a.App))
	root.AddCommand(access.Commands(a.App)...)
	root.AddCommand(audits.Command(a.App))
	root.AddCommand(endpoints.Commands(a.App)...)
	root.AddCommand(contexts.Command(a.App))
	root.AddCommand(nodes.Commands(a.App)...)
	root.AddCommand(databases.Commands(a.App)...)
	root.AddCommand(bench.Command(a.App), mcp.Command(a.App))
	root.AddCommand(a.codecCommand(), a.configCommand(), a.migrateCommand(), a.vetCommand(), a.versionCommand())
}

// aliases are words that people bring from other commands, by ours.
var aliases = map[string][]string{
	"list": {"ls"}, "get": {"show", "describe", "inspect"}, "delete": {"rm"}, "enqueue": {"add"},
}

func addAliases(cmd *cobra.Command) {
	cmd.Aliases = append(cmd.Aliases, aliases[cmd.Name()]...)
	for _, c := range cmd.Commands() {
		addAliases(c)
	}
}

// check finds mistakes before a verb starts: empty values, flags that exclude each other, and
// invalid values of global flags.
func (a verbs) check(cmd *cobra.Command, args []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // the word to complete may be empty
	}
	if err := arg.CheckValues(cmd, args); err != nil {
		return err
	}
	if err := arg.CheckGroups(cmd); err != nil {
		return err
	}
	if err := a.ReadFormat(cmd); err != nil {
		return err
	}
	if err := a.ReadEnvironment(cmd); err != nil && !cmd.HasSubCommands() {
		return err
	}
	return a.AskAboutContext(cmd)
}

// hideUnused hides the global flags that a verb does not use from its help.
func hideUnused(cmd *cobra.Command) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !cmd.HasSubCommands() && !app.UsesFlag(cmd, f.Name)
	})
}
