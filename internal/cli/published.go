package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
)

func (a *app) jobPublishedCommand() *cobra.Command {
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
		Example: `  holdfast job published ` + exampleID + ` progress
  holdfast job published ` + exampleID + ` progress --wait --after 17 --output json | jq .value`,
		Args:        takes(2, 2),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseOffset(args[0], after)
			if err != nil {
				return err
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				record, err := a.find(ctx, client, id)
				if err != nil {
					return err
				}
				look := published(client)
				if wait {
					look = client.WaitPublished
					defer a.tellWhy(ctx, client, id)()
				}
				item, err := look(ctx, id, args[1], after)
				switch {
				case errors.Is(err, holdfast.ErrNotFound):
					return nothingPublished(args[1], after, wait || record.State.Finished())
				case err != nil:
					return invalidIsUsage(err)
				}
				return a.object(viewItem(&item), func() { a.printf("%s", oneLine(onOneLine(item.Value, 0))) })
			})
		}),
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for a value until the job finishes")
	cmd.Flags().Int64Var(&after, "after", 0, "only a value newer than the one at `OFFSET`")
	return cmd
}

// published is WaitPublished without the waiting.
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

func (a *app) jobStreamCommand() *cobra.Command {
	var (
		follow bool
		after  int64
	)
	cmd := &cobra.Command{
		Use:   "stream ID NAME",
		Short: "List the items of a durable job's stream",
		Long: `List the items that a durable job has appended to a stream, oldest first. With --follow, print new
items as they arrive, as a table or as lines of JSON, until the job finishes.`,
		Example: `  holdfast job stream ` + exampleID + ` tokens
  holdfast job stream ` + exampleID + ` tokens --follow --output jsonl | jq -r .value`,
		Args:        takes(2, 2),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := parseOffset(args[0], after)
			if err != nil {
				return err
			}
			if follow {
				return a.followStream(ctx, id, args[1], after)
			}
			return a.withClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.find(ctx, client, id); err != nil {
					return err
				}
				return a.listStream(ctx, client, id, args[1], after)
			})
		}),
	}
	cmd.Flags().BoolVar(&follow, "follow", false, "print new items until the job finishes")
	cmd.Flags().Int64Var(&after, "after", 0, "only items after `OFFSET`")
	return cmd
}

// parseOffset checks what is left of the command line.
func parseOffset(text string, after int64) (holdfast.ID, error) {
	id, err := parseID(text)
	if err == nil && after < 0 {
		err = usagef("--after %d is negative", after)
	}
	return id, err
}

func (a *app) listStream(ctx context.Context, client *holdfast.Client, id holdfast.ID, name string, after int64) error {
	out := a.newList("OFFSET", "WHEN", "VALUE")
	for {
		items, err := client.Stream(ctx, id, name, after, maxPage)
		switch {
		case errors.Is(err, holdfast.ErrInvalid):
			return invalidIsUsage(err)
		case err != nil:
			return out.breakOff(err)
		}
		for i := range items {
			if err := out.add(viewItem(&items[i]), func() []string { return itemRow(&items[i]) }); err != nil {
				return err
			}
		}
		if len(items) < maxPage {
			break
		}
		after = items[len(items)-1].Offset
	}
	if out.count == 0 && out.format == formatTable {
		a.notef("No matching items.")
	}
	return out.end()
}

func itemRow(item *holdfast.StreamItem) []string {
	return []string{strconv.FormatInt(item.Offset, 10), clock(item.At), clip(onOneLine(item.Value, 0), maxCell)}
}

func (a *app) followStream(ctx context.Context, id holdfast.ID, name string, after int64) error {
	out, err := a.newTail(column{"OFFSET", 6}, column{"WHEN", 24}, column{"VALUE", 0})
	if err != nil {
		return err
	}
	return a.withClient(ctx, func(client *holdfast.Client) error {
		if _, err := a.find(ctx, client, id); err != nil {
			return err
		}
		defer a.tellWhy(ctx, client, id)()
		return invalidIsUsage(writeItems(out, client.Follow(ctx, id, name, after)))
	})
}

// writeItems writes items as they come.
func writeItems(out *tail, items iter.Seq2[holdfast.StreamItem, error]) error {
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := out.add(viewItem(&item), func() []string { return itemRow(&item) }); err != nil {
			return err
		}
	}
	return nil
}
