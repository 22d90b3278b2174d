package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The global flags.
const (
	flagDatabase  = "database"
	flagNamespace = "namespace"
	flagOutput    = "output"
	flagQuiet     = "quiet"
)

const (
	envDatabase      = "HOLDFAST_DATABASE"
	envNamespace     = "HOLDFAST_NAMESPACE"
	defaultDatabase  = "holdfast.db"
	defaultNamespace = "default"
)

// usesKey is the annotation that lists the global flags that a verb looks at.
const usesKey = "uses"

// uses says which global flags a verb looks at. It takes the others too, so that they may stand in
// an alias, and its help does not show them.
func uses(flags ...string) map[string]string {
	return map[string]string{usesKey: strings.Join(flags, " ")}
}

func usesFlag(cmd *cobra.Command, flag string) bool {
	return slices.Contains(strings.Fields(cmd.Annotations[usesKey]), flag)
}

func (a *app) rootCommand() *cobra.Command {
	root := group("holdfast", "Run durable jobs on the database you already have",
		`Run durable jobs on the database you already have: a SQLite file to start with, PostgreSQL when one
machine is not enough.

To get started, run "holdfast dev".`,
		`  holdfast dev
  holdfast job enqueue exec '{"command":["echo","hello"]}' --wait
  holdfast job list --state failed
  HOLDFAST_DATABASE=postgres://localhost/app holdfast queue list`)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = a.check
	root.SetUsageTemplate(usageTemplate)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		hideUnused(cmd)
		help(cmd, args)
	})

	flags := root.PersistentFlags()
	flags.StringVarP(&a.database, flagDatabase, "d", "",
		"`DATABASE` to use: a file, sqlite:PATH or postgres://… (default: $"+envDatabase+", or "+defaultDatabase+")")
	flags.StringVarP(&a.namespace, flagNamespace, "n", "",
		"`NAMESPACE` to work in (default: $"+envNamespace+", or "+defaultNamespace+")")
	flags.StringVarP(&a.output, flagOutput, "o", "", "output `FORMAT`: table, json or jsonl (default: table on a terminal, json elsewhere)")
	flags.BoolVarP(&a.quiet, flagQuiet, "q", false, "print only data and errors")
	version := root.Flags().Bool("version", false, "print the version") // without -v, which many take for something else
	showHelp := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			if a.output == "" {
				a.output = formatTable // one line, as of any other program
			}
			return a.printVersion()
		}
		return showHelp(cmd, args)
	}

	root.AddCommand(a.devCommand(), a.workerCommand(), a.jobCommand(), a.queueCommand(), a.nodeCommand(),
		a.signalCommand(), a.callbackCommand(), a.migrateCommand(), a.benchCommand(), a.vetCommand(), a.versionCommand())
	readDurations(root)
	a.completions(root)
	return root
}

// group is a command that only has verbs.
func group(use, short, long, example string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		SuggestionsMinimumDistance: 2,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
			if strings.Contains(args[0], "://") || strings.Contains(args[0], "=") {
				text = fmt.Sprintf("unknown command for %q; name a database with --database", cmd.CommandPath())
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				slices.SortStableFunc(near, func(x, y string) int { // what begins as it does comes first
					return cmp.Compare(strings.Index(y[:1], args[0][:1]), strings.Index(x[:1], args[0][:1]))
				})
				text += "; did you mean " + strings.Join(near, " or ") + "?"
			}
			return usagef("%s", text)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
}

// check refuses, before a verb begins, what is wrong whatever it does: values that are empty, flags
// that exclude each other, and values of global flags that no verb knows.
func (a *app) check(cmd *cobra.Command, args []string) error {
	if strings.HasPrefix(cmd.Name(), cobra.ShellCompRequestCmd) {
		return nil // what it completes may be empty
	}
	if err := checkValues(cmd, args); err != nil {
		return err
	}
	if err := checkGroups(cmd); err != nil {
		return err
	}
	switch a.output {
	case "", formatTable, formatJSON, formatLines:
	default:
		return usagef("--output %q: the formats are table, json and jsonl", a.output)
	}
	return a.readEnvironment(cmd)
}

// readEnvironment takes what no flag says from the environment. A variable that is set and empty is
// as much a mistake as a flag.
func (a *app) readEnvironment(cmd *cobra.Command) error {
	a.byFlag = a.database != ""
	for _, v := range []struct {
		flag, env, otherwise string
		value                *string
	}{
		{flagDatabase, envDatabase, defaultDatabase, &a.database},
		{flagNamespace, envNamespace, defaultNamespace, &a.namespace},
	} {
		if *v.value != "" {
			continue
		}
		*v.value = v.otherwise
		if text, set := a.env.LookupEnv(v.env); set && strings.TrimSpace(text) != "" {
			*v.value = text
		} else if set && usesFlag(cmd, v.flag) {
			return usagef("%s is set but empty; unset it or give it a value", v.env)
		}
	}
	return nil
}

// hideUnused keeps what a verb does not look at out of its help.
func hideUnused(cmd *cobra.Command) {
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !cmd.HasSubCommands() && !usesFlag(cmd, f.Name)
	})
}

// do makes a RunE of a command's work: its context ends at Ctrl-C, and its errors are told from those of the command line.
func (a *app) do(work func(ctx context.Context, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, stop := a.interruptible(cmd.Context())
		defer stop()
		err := work(ctx, cmd, args)
		if err == nil {
			return nil
		}
		if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errInterrupted) {
			err = fmt.Errorf("%w: %w", errInterrupted, err)
		}
		return &runError{err}
	}
}

// usageTemplate is cobra's without aliases, and without what groups would say of themselves as commands.
const usageTemplate = `Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{else}}
  {{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Run "{{.CommandPath}} COMMAND --help" for more about a command.{{end}}
`
