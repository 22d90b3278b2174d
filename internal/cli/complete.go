package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/dsn"
)

const (
	// completeJobs is how many of the newest jobs are looked at.
	completeJobs = 100

	noFiles = cobra.ShellCompDirectiveNoFileComp
	files   = cobra.ShellCompDirectiveDefault
)

// completions registers what a shell offers: for every flag and argument that is not a file, no
// files.
func (a *app) completions(root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(noFiles)
	a.completeFlags(root)
}

// words offers a fixed list.
func words(list ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(list, typed), noFiles
	}
}

// beginning returns the words that begin with what is typed, and that a shell can show.
func beginning(list []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(word string) bool {
		return !strings.HasPrefix(word, typed) || strings.ContainsFunc(word, func(r rune) bool { return r != '\t' && isControl(r) })
	})
}

// completeFlags registers completions of the flags and arguments of a command and those below it.
func (a *app) completeFlags(cmd *cobra.Command) {
	byFlag := map[string]cobra.CompletionFunc{
		flagOutput:   words(formatTable, formatJSON, formatLines),
		flagDatabase: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, files },
		"file":       func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, files },
		"state":      words(stateNames(everyState)...),
		"on-conflict": words("return\tthe id of the job that exists", "reject\tthe new job",
			"replace\tthe args, metadata and run time of one that has not started"),
		"priority":    words("1\tmost urgent", "2\tdefault", "3", "4\tleast urgent"),
		"unique":      completeUnique,
		flagLogLevel:  words("debug", "info", "warn", "error"),
		flagLogFormat: words(logShort, logText, logJSON),
		"queue":       a.fromDatabase(queueNames),
		"kind":        a.fromDatabase(kindNames, builtinKinds...),
		"tag":         a.fromDatabase(tagNames),
		"parent":      a.fromDatabase(jobsIn(everyState)),
		"from":        a.fromDatabase(stepNames),
		flagNamespace: a.fromDatabase(namespaceNames),
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if complete := byFlag[f.Name]; complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails where it is done twice
		}
	})
	if !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = a.completeArgs
	}
	for _, c := range cmd.Commands() {
		a.completeFlags(c)
	}
}

// completeArgs offers what a verb takes next, by the words of its Use.
func (a *app) completeArgs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	takes := strings.Fields(cmd.Use)[1:]
	if len(takes) == 0 {
		return nil, noFiles
	}
	last := takes[len(takes)-1]
	if len(args) >= len(takes) && !strings.Contains(last, "...") {
		return nil, noFiles
	}
	states := map[string][]holdfast.State{
		"cancel": unfinished, "pause": unfinished, "send": unfinished, "wait": unfinished,
		"retry":  {holdfast.Failed, holdfast.Cancelled, holdfast.Retryable, holdfast.Scheduled},
		"resume": {holdfast.Waiting, holdfast.Failed, holdfast.Cancelled},
	}[cmd.Name()]
	if states == nil {
		states = everyState
	}
	look := map[string]lookup{
		"ID": jobsIn(states), "QUEUE": queueNames,
		"send NAME": signalNames, "stream NAME": journalNames("streamed"), "published KEY": journalNames("published"),
	}
	word := strings.Trim(takes[min(len(args), len(takes)-1)], "[.]")
	switch {
	case word == "PACKAGE":
		return nil, files
	case word == "KIND":
		return a.fromDatabase(kindNames, builtinKinds...)(cmd, args, typed)
	case look[word] != nil:
		return a.fromDatabase(look[word])(cmd, args, typed)
	case look[cmd.Name()+" "+word] != nil:
		return a.fromDatabase(look[cmd.Name()+" "+word])(cmd, args, typed)
	}
	return nil, noFiles
}

var (
	everyState = []holdfast.State{
		holdfast.Scheduled, holdfast.Available, holdfast.Running, holdfast.Retryable, holdfast.Waiting,
		holdfast.Completed, holdfast.Failed, holdfast.Cancelled,
	}
	unfinished = everyState[:5]
)

func stateNames(states []holdfast.State) []string {
	names := make([]string, len(states))
	for i, s := range states {
		names[i] = s.String()
	}
	return names
}

// completeUnique completes the last part of a list.
func completeUnique(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var list []string
	for _, part := range []string{"kind", "args", "field:", "queue", "period:", "key:", "while:"} {
		list = append(list, before+part)
	}
	return beginning(list, typed), noFiles | cobra.ShellCompDirectiveNoSpace
}

// lookup finds words in a database. args are those before the one that is completed.
type lookup func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error)

// fromDatabase offers what a lookup finds in the database that the command line names, and what
// there always is. A shell has no use for errors.
func (a *app) fromDatabase(look lookup, always ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), a.env.CompletionTime)
		defer cancel()
		var found []string
		_ = a.peek(ctx, func(client *holdfast.Client) (err error) {
			found, err = look(ctx, client, args)
			return err
		})
		return beginning(append(slices.Clone(always), found...), typed), noFiles
	}
}

// peek looks into the database that the command line, of which a part is typed, names.
func (a *app) peek(ctx context.Context, look func(*holdfast.Client) error) error {
	_ = a.readEnvironment(&cobra.Command{}) // which does not care whether a variable is empty
	source, err := a.source(dsn.NoMigrate())
	if err != nil {
		return err
	}
	client, err := a.openClient(ctx, source)
	if err != nil {
		return err
	}
	defer func() { _ = closeClient(ctx, client) }() // nothing was written
	return look(client)
}

// described is a word with what the shell shows beside it.
func described(word, about string) string { return word + "\t" + oneLine(about) }

// jobsIn finds the newest jobs in one of the states.
func jobsIn(states []holdfast.State) lookup {
	return func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
		page, err := client.List(ctx, holdfast.Filter{States: states}, "", completeJobs)
		var found []string
		for i := range page.Jobs {
			j := &page.Jobs[i]
			if id := j.ID.String(); !slices.Contains(args, id) {
				found = append(found, described(id, j.Kind+", "+j.State.String()+", queue "+j.Queue))
			}
		}
		return found, err
	}
}

func queueNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	queues, err := client.Queues(ctx)
	var found []string
	for i := range queues {
		if name := queues[i].Name; !slices.Contains(args, name) {
			found = append(found, name)
		}
	}
	return found, err
}

// kindNames finds the kinds that nodes serve, and those of the newest jobs.
func kindNames(ctx context.Context, client *holdfast.Client, _ []string) ([]string, error) {
	nodes, err := client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var found []string
	for i := range nodes {
		for _, kind := range nodes[i].Info.Kinds {
			name, _, _ := strings.Cut(kind, "@")
			found = append(found, name)
		}
	}
	page, err := client.List(ctx, holdfast.Filter{}, "", completeJobs)
	for i := range page.Jobs {
		found = append(found, page.Jobs[i].Kind)
	}
	found = slices.DeleteFunc(sorted(found), func(kind string) bool { return slices.Contains(builtinKinds, kind) })
	return slices.Compact(found), err
}

var builtinKinds = []string{"exec", "http"}

func tagNames(ctx context.Context, client *holdfast.Client, _ []string) ([]string, error) {
	page, err := client.List(ctx, holdfast.Filter{}, "", completeJobs)
	var found []string
	for i := range page.Jobs {
		found = append(found, page.Jobs[i].Tags...)
	}
	return slices.Compact(sorted(found)), err
}

// namespaceNames finds the namespaces of the nodes: the others nobody lists.
func namespaceNames(ctx context.Context, client *holdfast.Client, _ []string) ([]string, error) {
	nodes, err := client.Nodes(ctx)
	found := []string{defaultNamespace}
	for i := range nodes {
		if name := nodes[i].Info.Namespace; name != "" {
			found = append(found, name)
		}
	}
	return slices.Compact(sorted(found)), err
}

// stepNames finds the steps that the job of the first argument remembers.
func stepNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	return journalNames("")(ctx, client, args)
}

// journalNames finds the names of entries of a kind, or any, in the journal of the job that is the
// first argument.
func journalNames(kind string) lookup {
	return func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
		if len(args) == 0 {
			return nil, nil
		}
		id, err := parseID(args[0])
		if err != nil {
			return nil, err
		}
		entries, err := client.JournalEntries(ctx, id, 0, maxPage)
		var found []string
		for i := range entries {
			if e := &entries[i]; e.Name != "" && (kind == "" || e.Kind == kind) && !slices.Contains(found, e.Name) {
				found = append(found, e.Name)
			}
		}
		return found, err
	}
}

// signalNames finds the signals that the job of the first argument waits for.
func signalNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	id, err := parseID(args[0])
	if err != nil {
		return nil, err
	}
	record, err := client.Get(ctx, id)
	if err != nil || record.Wait == nil {
		return nil, err
	}
	var says struct {
		WaitsFor []string `json:"waits_for"`
	}
	if err := json.Unmarshal(record.Wait.For, &says); err != nil {
		return nil, err
	}
	var found []string
	for _, what := range says.WaitsFor {
		for part := range strings.SplitSeq(strings.TrimPrefix(what, "the first of: "), ", ") {
			if name, ok := strings.CutPrefix(part, "signal "); ok {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

// ownHelp makes cobra's commands for help and completion refuse what they do not know.
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
				return usagef("no help for %q", strings.Join(args, " "))
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
			shells := group("completion", "", "", "")
			c.Args, c.RunE = shells.Args, shells.RunE
			c.Use = "completion SHELL"
			c.Short, c.Long = "Print a completion script for a shell", completionHelp
			for _, shell := range c.Commands() {
				shell.Short = "Print the completion script for " + shell.Name()
				shell.Long = shell.Short + ".\n\n" + loading[shell.Name()]
				script := shell.RunE
				shell.RunE = func(cmd *cobra.Command, args []string) error {
					if err := script(cmd, args); err != nil {
						return &runError{fmt.Errorf("writing the output: %w", err)}
					}
					return nil
				}
			}
		}
	}
}

const completionHelp = `Print a completion script for a shell. It completes commands, flags and their values, and jobs, kinds,
queues, tags and signals from the database. The help of each shell says how to load its script.`

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
