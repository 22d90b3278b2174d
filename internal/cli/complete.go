package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/access"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/attributes"
	"github.com/holdfastdev/holdfast/internal/cli/audits"
	"github.com/holdfastdev/holdfast/internal/cli/batches"
	"github.com/holdfastdev/holdfast/internal/cli/contexts"
	"github.com/holdfastdev/holdfast/internal/cli/endpoints"
	"github.com/holdfastdev/holdfast/internal/cli/limits"
	"github.com/holdfastdev/holdfast/internal/cli/nodes"
	"github.com/holdfastdev/holdfast/internal/cli/operations"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/queues"
	"github.com/holdfastdev/holdfast/internal/cli/retentions"
	"github.com/holdfastdev/holdfast/internal/cli/schedules"
	"github.com/holdfastdev/holdfast/store"
)

const (
	noFiles = cobra.ShellCompDirectiveNoFileComp
	files   = cobra.ShellCompDirectiveDefault
)

// completions registers completions of a shell; flags and arguments that are not files do not
// complete files.
func (a verbs) completions(root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(noFiles)
	a.complete(root, a.flagCompletions())
}

// words completes from a fixed list.
func words(list ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(list, typed), noFiles
	}
}

// aFile leaves it to the shell, which completes files.
func aFile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return nil, files }

// beginning returns the words that begin with typed and that a shell can show.
func beginning(list []string, typed string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(word string) bool {
		return !strings.HasPrefix(word, typed) || strings.ContainsFunc(word, func(r rune) bool { return r != '\t' && output.IsControl(r) })
	})
}

// flagCompletions complete the values of flags, by their names.
func (a verbs) flagCompletions() map[string]cobra.CompletionFunc {
	kinds, jobs := a.fromDatabase(kindNames, builtinKinds...), a.fromDatabase(jobsIn(arg.States))
	tags, states := a.fromDatabase(tagNames), lastOf(always, words(arg.StateNames(arg.States)...))
	return map[string]cobra.CompletionFunc{
		app.FlagOutput:    words(output.Formats...),
		app.FlagDatabase:  aFile,
		app.FlagServer:    words(),
		app.FlagContext:   a.contextNames,
		app.FlagTokenFile: aFile,
		app.FlagTLSCA:     aFile,
		app.FlagConfig:    aFile,
		"tls-cert":        aFile,
		"tls-key":         aFile,
		"file":            aFile,
		"archive":         aFile,
		app.FlagCodecKeys: aFile,
		"retention":       a.fromDatabase(retentions.Names),
		"by":              words("both	queue and kind", "queue", "kind", "none"),
		"state":           states,
		"for":             states,
		"on-conflict": words("return\tthe id of the job that exists", "reject\tthe new job",
			"replace\tthe args, metadata and run time of one that has not started"),
		"on-failure":      onFailure(kinds),
		"on-end":          kinds,
		"on-success":      kinds,
		"auth":            lastOf(always, words(nodes.AuthWays...)),
		"only":            words("callbacks"),
		"role":            words(access.Roles...),
		"scope":           words(access.Scopes...),
		"event":           words(endpoints.Events...),
		"overlap":         words(store.OverlapNames()...),
		"missed":          words(store.MissedNames()...),
		"priority":        words("1\tmost urgent", "2\tdefault", "3", "4\tleast urgent"),
		"unique":          completeUnique,
		app.FlagLogLevel:  words("debug", "info", "warn", "error"),
		app.FlagLogFormat: words(app.LogShort, app.LogText, app.LogJSON),
		"queue":           lastOf(app.TakesNamespaces, a.fromDatabase(queues.Names)),
		"kind":            kinds,
		"tag":             tags,
		"remove":          tags,
		"attr":            a.fromDatabase(attributes.Names),
		"type":            words("keyword", "int", "float", "bool", "time"),
		"sort":            words("newest", "oldest", "run_at\tunfinished jobs", "finished\tfinished jobs"), //nolint:dupword // value and meaning
		"target":          words(audits.Kinds...),
		"job":             jobs,
		"parent":          jobs,
		"root":            jobs,
		"id":              jobs,
		"from":            a.fromDatabase(stepNames),
		app.FlagColumns: lastOf(always, func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			return beginning(app.ColumnNames(cmd), typed), noFiles | cobra.ShellCompDirectiveNoSpace
		}),
		app.FlagNamespace: lastOf(app.TakesNamespaces, a.fromDatabase(access.NamespaceNames)),
	}
}

// onFailure completes what becomes of a job if one before it fails, and the kinds of the jobs that
// a batch calls back with then.
func onFailure(kinds cobra.CompletionFunc) cobra.CompletionFunc {
	actions := words("cancel", "run", "hold", "only-failed", "only-cancelled")
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if cmd.Parent().Name() == "batch" {
			return kinds(cmd, args, typed)
		}
		return actions(cmd, args, typed)
	}
}

// complete registers completions of the flags and arguments of a command and those below it.
func (a verbs) complete(cmd *cobra.Command, byFlag map[string]cobra.CompletionFunc) {
	register := func(f *pflag.Flag) {
		if complete := byFlag[f.Name]; complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // fails if registered already
		}
	}
	cmd.Flags().VisitAll(register)
	cmd.PersistentFlags().VisitAll(register)
	if !cmd.HasSubCommands() && cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = a.completeArgs
	}
	for _, c := range cmd.Commands() {
		a.complete(c, byFlag)
	}
}

// completeArgs completes the next argument of a verb, by the words of its Use.
func (a verbs) completeArgs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	takes := strings.Fields(cmd.Use)[1:]
	if len(takes) == 0 {
		return nil, noFiles
	}
	last := takes[len(takes)-1]
	if len(args) >= len(takes) && !strings.Contains(last, "...") {
		return nil, noFiles
	}
	states := map[string][]store.State{
		"cancel": arg.Unfinished, "pause": arg.Unfinished, "send": arg.Unfinished, "call": arg.Unfinished, "wait": arg.Unfinished,
		"retry":  {store.Failed, store.Cancelled, store.Retryable, store.Scheduled},
		"resume": {store.Waiting, store.Failed, store.Cancelled}, "continue-as-new": {store.Waiting, store.Failed, store.Cancelled},
		"complete": {store.Waiting}, "fail": {store.Waiting},
		"delete":     {store.Completed, store.Failed, store.Cancelled},
		"set":        {store.Scheduled, store.Available, store.Retryable, store.Waiting},
		"move":       {store.Scheduled, store.Available, store.Retryable, store.Waiting},
		"prioritize": {store.Scheduled, store.Available, store.Retryable, store.Waiting},
	}[cmd.Name()]
	if states == nil {
		states = arg.States
	}
	look := map[string]lookup{
		"ID": jobsIn(states), "QUEUE": queues.Names, "SCHEDULE": schedules.Names, "LIMIT": limits.Names, "CLASS": retentions.Names,
		"BATCH":     batches.Names,
		"OPERATION": operations.Names,
		"set NAME":  limits.Names,

		"delete NAME": attributes.Names,
		"NODE":        nodes.Names,
		"WEBHOOK":     endpoints.Names,
		"TAG":         tagNames, "send NAME": signalNames, "stream NAME": journalNames("streamed"), "published KEY": journalNames("published"),
	}
	word := strings.Trim(takes[min(len(args), len(takes)-1)], "[.]")
	inGroup := map[string]lookup{"endpoint KIND": endpoints.PushNames, "key KEY": access.KeyIDs, "namespace NAME": access.NamespaceNames}
	switch ofGroup := inGroup[cmd.Parent().Name()+" "+word]; {
	case ofGroup != nil && cmd.Name() != "create":
		return a.fromDatabase(ofGroup)(cmd, args, typed)
	case word == "PACKAGE" || word == "PATH":
		return nil, files
	case word == "VERB":
		return words("dev", "maintain-node", "server", "worker")(cmd, args, typed)
	case word == "CONTEXT":
		return a.contextNames(cmd, args, typed)
	case word == "KIND":
		return a.fromDatabase(kindNames, builtinKinds...)(cmd, args, typed)
	case look[word] != nil:
		return a.fromDatabase(look[word])(cmd, args, typed)
	case look[cmd.Name()+" "+word] != nil:
		return a.fromDatabase(look[cmd.Name()+" "+word])(cmd, args, typed)
	}
	return nil, noFiles
}

// lastOf completes the last part of a list with commas, if a verb takes lists.
func lastOf(takesLists func(*cobra.Command) bool, complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		cut := strings.LastIndex(typed, ",") + 1
		if cut == 0 || !takesLists(cmd) {
			return complete(cmd, args, typed)
		}
		found, directive := complete(cmd, args, typed[cut:])
		given := strings.Split(typed[:cut], ",")
		found = slices.DeleteFunc(found, func(word string) bool { return slices.Contains(given, word) })
		for i := range found {
			found[i] = typed[:cut] + found[i]
		}
		return found, directive
	}
}

// contextNames completes the names of contexts.
func (a verbs) contextNames(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return beginning(contexts.Names(a.App), typed), noFiles
}

// always is a condition that holds for every verb.
func always(*cobra.Command) bool { return true }

// completeUnique completes the last part of a list.
func completeUnique(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var list []string
	for _, part := range []string{"kind", "args", "field:", "queue", "period:", "key:", "while:"} {
		list = append(list, before+part)
	}
	return beginning(list, typed), noFiles | cobra.ShellCompDirectiveNoSpace
}
