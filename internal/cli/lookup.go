package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// completeJobs is how many of the newest jobs a completion reads.
const completeJobs = 100

// lookup finds completions in a database. args are those before the one to complete.
type lookup func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error)

// fromDatabase completes from always and from what a lookup finds in the database of the command
// line. It ignores errors, which a shell cannot show.
func (a verbs) fromDatabase(look lookup, always ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), a.Env.CompletionTime)
		defer cancel()
		var found []string
		_ = a.peek(ctx, cmd, func(client *holdfast.Client) (err error) {
			found, err = look(ctx, client, args)
			return err
		})
		return beginning(append(slices.Clone(always), found...), typed), noFiles
	}
}

// peek opens the database that the incomplete command line names.
func (a verbs) peek(ctx context.Context, cmd *cobra.Command, look func(*holdfast.Client) error) error {
	_ = a.ReadEnvironment(cmd) // ignores what is wrong
	source, err := a.Source(dsn.NoMigrate())
	if err != nil {
		return err
	}
	client, err := a.OpenClient(ctx, source)
	if err != nil {
		return err
	}
	defer func() { _ = app.CloseClient(ctx, client) }() // nothing was written
	return look(client)
}

// described is a word with a description for the shell.
func described(word, about string) string { return word + "\t" + output.OneLine(about) }

// jobsIn finds the newest jobs in one of the states.
func jobsIn(states []store.State) lookup {
	return func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
		page, err := client.List(ctx, store.Filter{States: states}, "", completeJobs)
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
	page, err := client.List(ctx, store.Filter{}, "", completeJobs)
	for i := range page.Jobs {
		found = append(found, page.Jobs[i].Kind)
	}
	found = slices.DeleteFunc(slices.Sorted(slices.Values(found)), func(kind string) bool {
		return slices.Contains(builtinKinds, kind) || store.IsOwnKind(kind)
	})
	return slices.Compact(found), err
}

var builtinKinds = []string{"exec", "http"}

func tagNames(ctx context.Context, client *holdfast.Client, _ []string) ([]string, error) {
	page, err := client.List(ctx, store.Filter{}, "", completeJobs)
	var found []string
	for i := range page.Jobs {
		found = append(found, page.Jobs[i].Tags...)
	}
	return slices.Compact(slices.Sorted(slices.Values(found))), err
}

// stepNames finds the steps in the journal of the job of the first argument.
func stepNames(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
	return journalNames("")(ctx, client, args)
}

// journalNames finds the names of entries of a kind ("" for any) in the journal of the job of the
// first argument.
func journalNames(kind string) lookup {
	return func(ctx context.Context, client *holdfast.Client, args []string) ([]string, error) {
		if len(args) == 0 {
			return nil, nil
		}
		id, err := app.FindID(ctx, client, args[0])
		if err != nil {
			return nil, err
		}
		entries, err := client.JournalEntries(ctx, id, 0, app.MaxPage)
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
	id, err := app.FindID(ctx, client, args[0])
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
