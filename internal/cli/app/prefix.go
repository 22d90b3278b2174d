package app

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// idFlagKey is the annotation of a flag that takes ids of jobs.
const idFlagKey = "id"

// TakesID notes that a flag takes the id of a job, or several, so that the beginning of one will
// do.
func TakesID(flags *pflag.FlagSet, flag string) {
	flags.Lookup(flag).Annotations = map[string][]string{idFlagKey: {}}
}

// isID reports whether the Use of a verb calls an argument an ID.
func isID(cmd *cobra.Command, place int) bool {
	words := strings.Fields(cmd.Use)[1:]
	if len(words) == 0 {
		return false
	}
	return strings.Trim(words[min(place, len(words)-1)], "[.]") == "ID"
}

// wholeIDs replaces the beginnings of ids by ids: in the arguments that the verb's Use calls ID,
// and in flags that take one. It opens the database only if there are any, and after it has found
// the mistakes that can be seen without.
func (a *App) wholeIDs(ctx context.Context, cmd *cobra.Command, args []string) ([]string, error) {
	texts := slices.Clone(args)
	var given []*string
	for i := range texts {
		if isID(cmd, i) {
			given = append(given, &texts[i])
		}
	}
	lists := map[*pflag.Flag][]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, takes := f.Annotations[idFlagKey]; takes {
			lists[f] = arg.ValuesOf(f)
			for i := range lists[f] {
				given = append(given, &lists[f][i])
			}
		}
	})
	found, err := a.replacePrefixes(ctx, given)
	if err != nil || !found {
		return args, err
	}
	for f, list := range lists {
		if err := arg.SetValues(f, list); err != nil {
			return args, err
		}
	}
	return texts, nil
}

// replacePrefixes replaces those of the texts that are beginnings of ids, if there are any.
func (a *App) replacePrefixes(ctx context.Context, texts []*string) (found bool, err error) {
	prefixes := slices.DeleteFunc(slices.Clone(texts), func(text *string) bool { return arg.Prefix(*text) == "" })
	if len(prefixes) == 0 {
		return false, nil
	}
	for _, text := range texts {
		if !slices.Contains(prefixes, text) {
			if _, err := arg.ParseID(*text); err != nil {
				return false, err
			}
		}
	}
	client, err := a.open(ctx)
	if err != nil {
		return false, err
	}
	a.kept = client
	for _, text := range prefixes {
		id, err := FindID(ctx, client, *text)
		if err != nil {
			return false, err
		}
		*text = id.String()
	}
	return true, nil
}

// mostCandidates is how many ids an error lists.
const mostCandidates = 5

// FindID returns the id that a text is, or that of the only job of the client's namespace whose id
// begins with it.
func FindID(ctx context.Context, client *holdfast.Client, text string) (holdfast.ID, error) {
	prefix := arg.Prefix(text)
	if prefix == "" {
		return arg.ParseID(text)
	}
	found, err := beginningWith(ctx, client, prefix)
	switch {
	case err != nil:
		return holdfast.ID{}, err
	case len(found) == 0:
		return holdfast.ID{}, fmt.Errorf("no such job in namespace %q: no id begins with %s; it may have been removed after its retention",
			client.Namespace(), prefix)
	case len(found) == 1:
		return found[0].ID, nil
	}
	var list []string
	for i := range found[:min(len(found), mostCandidates)] {
		list = append(list, fmt.Sprintf("%s (%s, %s)", found[i].ID, output.Clip(found[i].Kind, output.MaxName), found[i].State))
	}
	if len(found) > mostCandidates {
		list = append(list, "and more")
	}
	return holdfast.ID{}, fmt.Errorf("the ids of several jobs begin with %s: %s; type more of the id", prefix, strings.Join(list, ", "))
}

// beginningWith returns jobs whose ids begin with a prefix, the newest first: all of them, or more
// than an error lists. Jobs are listed in the order of their ids, and an id is a cursor: so it
// looks only at jobs whose ids are made in the same minute or so.
func beginningWith(ctx context.Context, client *holdfast.Client, prefix string) (found []store.Record, err error) {
	first, last := boundsOf(prefix)
	for after := next(last); len(found) <= mostCandidates; {
		page, err := client.List(ctx, store.Filter{}, after, mostCandidates+1)
		if err != nil {
			return nil, err
		}
		for i := range page.Jobs {
			if id := page.Jobs[i].ID; bytes.Compare(id[:], first[:]) < 0 {
				return found, nil
			}
			found = append(found, page.Jobs[i])
		}
		at, err := uuid.Parse(page.Next)
		if err != nil || bytes.Compare(at[:], first[:]) <= 0 { // the end, of all or of these
			return found, nil //nolint:nilerr // there is no more cursor
		}
		after = page.Next
	}
	return found, nil
}

// boundsOf returns the first and the last id that begin with a prefix.
func boundsOf(prefix string) (first, last uuid.UUID) {
	fill := func(digit string) uuid.UUID {
		rest := arg.ExampleID[len(prefix):]
		return uuid.MustParse(prefix + strings.Map(func(r rune) rune {
			if r == '-' {
				return r
			}
			return rune(digit[0])
		}, rest))
	}
	return fill("0"), fill("f")
}

// next returns the cursor before which an id is the first; "" if it is the last id of all.
func next(id uuid.UUID) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return id.String()
		}
	}
	return ""
}
