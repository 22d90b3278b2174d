package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// ownHelp makes cobra's commands for help and completion refuse unknown arguments.
func ownHelp(root *cobra.Command, args []string) {
	help := &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Show help for a command",
		Long:  "Show help for a command.",
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, noFiles
			}
			var found []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), typed) {
					found = append(found, described(c.Name(), c.Short))
				}
			}
			return found, noFiles
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return arg.Usagef("no help for %q", strings.Join(args, " "))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
	root.SetHelpCommand(help)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			shells := app.Group("completion", "", "", "")
			c.Args, c.RunE = shells.Args, shells.RunE
			c.Use = "completion SHELL"
			c.Short, c.Long = "Print a completion script for a shell", completionHelp
			for _, shell := range c.Commands() {
				shell.Short = "Print the completion script for " + shell.Name()
				shell.Long = shell.Short + ".\n\n" + loading[shell.Name()]
				script := shell.RunE
				shell.RunE = func(cmd *cobra.Command, args []string) error {
					if err := script(cmd, args); err != nil {
						return app.WorkFailed(err)
					}
					return nil
				}
			}
		}
	}
}

const completionHelp = `Print a completion script for a shell. It completes commands, flags and their values, and jobs, kinds,
queues, schedules, tags and signals from the database. The help of each shell says how to load its script.`

// loading says how to load the completion script of a shell.
var loading = map[string]string{
	"bash": `The package bash-completion must be installed.

To load it into the current shell:

	source <(holdfast completion bash)

To load it into every new shell, once:

	holdfast completion bash > ~/.local/share/bash-completion/completions/holdfast`,
	"zsh": `To load it into the current shell:

	source <(holdfast completion zsh)

To load it into every new shell, once, in a folder of $fpath, after "autoload -U compinit; compinit":

	holdfast completion zsh > "${fpath[1]}/_holdfast"`,
	"fish": `To load it into the current shell:

	holdfast completion fish | source

To load it into every new shell, once:

	holdfast completion fish > ~/.config/fish/completions/holdfast.fish`,
	"powershell": `To load it into the current shell:

	holdfast completion powershell | Out-String | Invoke-Expression

To load it into every new shell, add the output to your profile.`,
}
