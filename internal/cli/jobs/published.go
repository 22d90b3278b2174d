package jobs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) jobPublishedCommand() *cobra.Command {
	var (
		wait  bool
		after int64
	)
	cmd := &cobra.Command{
		Use:   "published ID KEY",
		Short: "Show a value that a durable job has published",
		Long: `Show the latest value that a durable job has published under a key. The job may be unfinished or
finished. It is an error if there is no value, or none newer than --after.

With --wait, wait for a value until the job finishes. To wait for the next one, pass the offset of
the last one as --after.`,
		Example: `  holdfast job published ` + arg.ExampleID + ` progress
  holdfast job published ` + arg.ExampleID + ` progress --wait --after 17 --output json | jq .value`,
		Args:        arg.Takes(2, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseOffset(args[0], after)
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				record, err := a.Find(ctx, client, id)
				if err != nil {
					return err
				}
				look := published(client)
				if wait {
					look = client.WaitPublished
					defer a.printReason(ctx, client, id)()
				}
				item, err := look(ctx, id, args[1], after)
				switch {
				case errors.Is(err, holdfast.ErrNotFound):
					return nothingPublished(args[1], after, wait || record.State.Finished())
				case err != nil:
					return arg.InvalidIsUsage(err)
				}
				item.Value = a.Hide(item.Value, 0)
				return a.Object(views.NewItem(&item), func() { a.Printf("%s", output.OneLine(views.OnOneLine(item.Value, 0))) })
			})
		}),
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for a value until the job finishes")
	cmd.Flags().Int64Var(&after, "after", 0, "only a value newer than the one at `OFFSET`")
	return arg.ByKey(cmd)
}

// published is WaitPublished without waiting.
func published(client *holdfast.Client) func(context.Context, holdfast.ID, string, int64) (holdfast.StreamItem, error) {
	return func(ctx context.Context, id holdfast.ID, key string, after int64) (holdfast.StreamItem, error) {
		item, ok, err := client.Published(ctx, id, key)
		if err == nil && (!ok || item.Offset <= after) {
			err = holdfast.ErrNotFound
		}
		return item, err
	}
}

func nothingPublished(key string, after int64, finished bool) error {
	newer, hint := "", "; use --wait to wait for it"
	if after > 0 {
		newer = " newer than offset " + strconv.FormatInt(after, 10)
	}
	if finished {
		hint = " and has finished"
	}
	return fmt.Errorf("the job has published no value%s under %q%s", newer, key, hint)
}

func (a verbs) jobStreamCommand() *cobra.Command {
	var (
		follow bool
		after  int64
	)
	cmd := &cobra.Command{
		Use:   "stream ID NAME",
		Short: "List the items of a durable job's stream",
		Long: `List the items that a durable job has appended to a stream, oldest first. With --follow, print new
items as they arrive, as a table or as lines of JSON, until the job finishes.`,
		Example: `  holdfast job stream ` + arg.ExampleID + ` tokens
  holdfast job stream ` + arg.ExampleID + ` tokens --follow --output jsonl | jq -r .value`,
		Args:        arg.Takes(2, 2),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseOffset(args[0], after)
			if err != nil {
				return err
			}
			if follow {
				return a.followStream(ctx, id, args[1], after)
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				return a.listStream(ctx, client, id, args[1], after)
			})
		}),
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "print new items until the job finishes")
	cmd.Flags().Int64Var(&after, "after", 0, "only items after `OFFSET`")
	return arg.ByKey(cmd)
}

// parseOffset checks the remaining arguments.
func parseOffset(text string, after int64) (holdfast.ID, error) {
	id, err := arg.ParseID(text)
	if err == nil && after < 0 {
		err = arg.Usagef("--after %d is negative", after)
	}
	return id, err
}

func (a verbs) listStream(ctx context.Context, client *holdfast.Client, id holdfast.ID, name string, after int64) error {
	out := a.NewList("OFFSET", "WHEN", "VALUE")
	for {
		items, err := client.Stream(ctx, id, name, after, app.MaxPage)
		switch {
		case errors.Is(err, holdfast.ErrInvalid):
			return arg.InvalidIsUsage(err)
		case err != nil:
			return out.BreakOff(err)
		}
		for i := range items {
			items[i].Value = a.Hide(items[i].Value, 0)
			if err := out.Add(views.NewItem(&items[i]), func() []string { return views.ItemRow(&items[i]) }); err != nil {
				return err
			}
		}
		if len(items) < app.MaxPage {
			break
		}
		after = items[len(items)-1].Offset
	}
	if out.Count == 0 && out.Format == output.FormatTable {
		a.Notef("No matching items.")
	}
	return out.End()
}

func (a verbs) followStream(ctx context.Context, id holdfast.ID, name string, after int64) error {
	out, err := a.followed(views.ItemColumns...)
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		if _, err := a.Find(ctx, client, id); err != nil {
			return err
		}
		defer a.printReason(ctx, client, id)()
		return arg.InvalidIsUsage(a.writeItems(out, client.Follow(ctx, id, name, after)))
	})
}

// writeItems prints items as they come.
func (a verbs) writeItems(out *output.Tail, items iter.Seq2[holdfast.StreamItem, error]) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		item.Value = a.Hide(item.Value, 0)
		if err := out.Add(views.NewItem(&item), func() []string { return views.ItemRow(&item) }); err != nil {
			return err
		}
	}
	return nil
}
