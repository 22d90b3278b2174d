package batches

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func (a verbs) createCommand() *cobra.Command {
	var name, id string
	var onEnd, onSuccess, onFailure []string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a batch",
		Long: `Make a batch that is open. Members are added by "batch add" and by "job enqueue --batch"; when it is
closed and all of them have finished, the jobs for its end are enqueued. Their handlers find out how
members have ended.`,
		Example: `  holdfast batch create --name import --on-success report --on-failure 'alert:{"to":"ops"}'
  holdfast batch create --on-end cleanup --output json | jq -r .id`,
		Args:        arg.Takes(0, 0),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			opts := []batch.Option{batch.Name(name)}
			if id != "" {
				parsed, err := arg.ParseNewID("id", id)
				if err != nil {
					return err
				}
				opts = append(opts, batch.ID(parsed))
			}
			for _, of := range []struct {
				flag   string
				given  []string
				option func(holdfast.BatchItem) batch.Option
			}{{"on-end", onEnd, batch.OnEnd}, {"on-success", onSuccess, batch.OnSuccess}, {"on-failure", onFailure, batch.OnFailure}} {
				for _, text := range of.given {
					job, err := parseItem(of.flag, text)
					if err != nil {
						return err
					}
					opts = append(opts, of.option(job))
				}
			}
			return a.create(ctx, opts)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&name, "name", "", "`NAME` of the batch, for people")
	flags.StringVar(&id, "id", "", "`ID` of the batch, a UUIDv7; making the same one again does nothing")
	arg.TextsVar(flags, &onEnd, "on-end", nil, "enqueue a job, `KIND[:ARGS]`, when all members have finished; repeatable")
	arg.TextsVar(flags, &onSuccess, "on-success", nil, "the same, if all have completed: `KIND[:ARGS]`; repeatable")
	arg.TextsVar(flags, &onFailure, "on-failure", nil, "the same, if not all have completed: `KIND[:ARGS]`; repeatable")
	return cmd
}

// parseItem reads a job such as alert:{"to":"ops"}.
func parseItem(flag, text string) (holdfast.BatchItem, error) {
	kind, args, has := strings.Cut(text, ":")
	if !has {
		args = "{}"
	}
	if kind == "" || !json.Valid([]byte(args)) {
		return holdfast.BatchItem{}, arg.Usagef("--%s %s: must be KIND or KIND:ARGS, and ARGS is JSON", flag, output.OneLine(text))
	}
	return item(kind, json.RawMessage(args)), nil
}

// create makes a batch, after the options were tried without a database.
func (a verbs) create(ctx context.Context, opts []batch.Option) error {
	err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		_, err := batch.New(ctx, client, opts...)
		return err
	})
	if err != nil {
		return err
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		made, err := batch.New(ctx, client, opts...)
		if err != nil {
			return arg.InvalidIsUsage(err)
		}
		b, err := batch.Get(ctx, client, made.ID)
		if err != nil {
			return err
		}
		return a.Object(views.NewBatch(&b), func() { a.Printf("%s", b.ID) })
	})
}

func (a verbs) addCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add BATCH KIND [ARGS]",
		Short: "Add a job to a batch",
		Long: `Enqueue a job that belongs to a batch, which is open. "job enqueue --batch" does the same with all
that a job can have, and with --file for many.`,
		Example:     `  holdfast batch add ` + arg.ExampleID + ` load '{"file":"orders.csv"}'`,
		Args:        arg.Takes(2, 3),
		Annotations: uses(),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			id, err := arg.ParseBatchID(args[0])
			if err != nil {
				return err
			}
			data := json.RawMessage("{}")
			if len(args) == 3 {
				if data, err = arg.ReadJSON(ctx, a.Env.Stdin, "ARGS", args[2]); err != nil {
					return err
				}
			}
			job := item(args[1], data)
			err = a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				_, err := batch.In(client, id).Add(ctx, job)
				return err
			})
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				results, err := batch.In(client, id).Add(ctx, job)
				if err != nil {
					return explain(client, id, err)
				}
				v := views.Member{Namespace: client.Namespace(), Batch: id.String(), ID: results[0].ID.String(), Existing: results[0].Existing}
				return a.Object(v, func() { a.Printf("%s", v.ID) })
			})
		}),
	}
	return cmd
}
