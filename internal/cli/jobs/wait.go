package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/why"
)

// anyKind is a kind whose payloads are only known to be JSON.
func anyKind(name string) holdfast.Kind[json.RawMessage, json.RawMessage] {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](name)
}

// whyAfter is how long a wait lasts before the reason is printed, and the interval at which the
// reason is checked.
const whyAfter = 2 * time.Second

func (a verbs) jobWaitCommand() *cobra.Command {
	var timeout time.Duration
	var wanted []string
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait for a job and print its result",
		Long: `Wait for a job to finish and print its result as JSON ("null" if there is none). After two seconds,
print on standard error why the job has not finished, and again when the reason changes.

The exit code is 0 if the job completed, 1 if it failed or was cancelled, and 2 if --wait-timeout
passed; the job continues.

With --for, wait until the job is in one of these states, and print that state as JSON. The exit
code is then 1 if the job finished in another state. A job is looked at when it ends, and else at
least once a second: a state that passes in between is missed.`,
		Example: `  holdfast job wait ` + arg.ExampleID + `
  holdfast job wait ` + arg.ExampleID + ` --wait-timeout 30s | jq .stdout
  holdfast job wait ` + arg.ExampleID + ` --for running,waiting --wait-timeout 1m`,
		Args:        arg.Takes(1, 1),
		Annotations: app.Uses(app.FlagDatabase, app.FlagNamespace, app.FlagQuiet),
		RunE: a.Do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			id, err := arg.ParseID(args[0])
			if err != nil {
				return err
			}
			if err := checkPatience(cmd.Flags().Changed, timeout); err != nil {
				return err
			}
			states, err := arg.ParseStates("for", splitList(wanted))
			if err != nil {
				return err
			}
			return a.WithClient(ctx, func(client *holdfast.Client) error {
				if _, err := a.Find(ctx, client, id); err != nil {
					return err
				}
				if len(states) > 0 {
					return a.waitForState(ctx, client, id, states, timeout)
				}
				return a.wait(ctx, client, id, timeout)
			})
		}),
	}
	cmd.Flags().DurationVar(&timeout, "wait-timeout", 0, "stop waiting after `DURATION`, such as 30s (default: wait for ever)")
	arg.TextsVar(cmd.Flags(), &wanted, "for", nil,
		"wait until the job is in `STATE`; repeatable, or a list with commas (default: until it finishes)")
	return arg.ByKey(cmd)
}

// checkPatience refuses a time limit that is none.
func checkPatience(given func(string) bool, timeout time.Duration) error {
	if given("wait-timeout") && timeout <= 0 {
		return arg.Usagef("--wait-timeout %v: must be more than 0; leave it out to wait without a limit", timeout)
	}
	return nil
}

// splitList splits the values of a flag that may be repeated, or be a list.
func splitList(texts []string) (list []string) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, strings.TrimSpace(part))
		}
	}
	return list
}

// wait waits for a job and prints its result. Its errors have the exit codes documented for "job
// wait".
func (a verbs) wait(ctx context.Context, client *holdfast.Client, id holdfast.ID, timeout time.Duration) error {
	waiting := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	stop := a.printReason(waiting, client, id)
	result, err := anyKind("any").Job(client, id).Wait(waiting)
	for errors.Is(err, holdfast.ErrUnavailable) && app.PauseFor(waiting, app.LastLook) == nil {
		result, err = anyKind("any").Job(client, id).Wait(waiting)
	}
	stop()
	var ended *holdfast.JobError
	switch {
	case err == nil:
		if result == nil {
			result = json.RawMessage("null")
		}
		return a.WriteJSON(result, "")
	case errors.As(err, &ended):
		return app.ExitWith(app.ExitError, strings.TrimPrefix(ended.Error(), "holdfast: "))
	case ctx.Err() == nil && waiting.Err() != nil:
		return app.ExitWith(app.ExitTimeout, fmt.Sprintf("job %s has not finished after %v; it continues", id, timeout)+a.whyNot(ctx, client, id))
	}
	return err
}

// whyNot says why a job has not finished, as the end of a sentence; "" if that cannot be found out.
func (a verbs) whyNot(ctx context.Context, client *holdfast.Client, id holdfast.ID) string {
	ctx, cancel := context.WithTimeout(ctx, whyAfter)
	defer cancel()
	if why, err := client.Why(ctx, id); err == nil && !why.State.Finished() {
		return ": " + why.String()
	}
	return ""
}

// printReason prints the reason for a wait after whyAfter, and again when it has changed, until
// stop is called.
func (a verbs) printReason(ctx context.Context, client *holdfast.Client, id holdfast.ID) (stop func()) {
	waiting, down := ctx, a.NewOutage()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var told []why.Cause
		for app.PauseFor(ctx, whyAfter) == nil {
			e, err := client.Why(ctx, id)
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, holdfast.ErrUnavailable):
				down.Begins(err)
			case err == nil:
				down.Over()
				if !e.State.Finished() && !slices.EqualFunc(e.Causes, told, sameCause) {
					told = e.Causes
					text := output.OneLine(e.String())
					if state := e.State.String(); !strings.HasPrefix(text, state) {
						text = state + ": " + text
					}
					a.Notef("%s", text)
				}
			}
		}
	}()
	return func() {
		cancel()
		<-done
		if waiting.Err() == nil { // an answer, not a timeout
			down.Over()
		}
	}
}

// sameCause reports whether two causes differ only in how long they have lasted.
func sameCause(x, y why.Cause) bool {
	return x.Code == y.Code && x.Job == y.Job && x.Node == y.Node && x.Until.Equal(y.Until)
}
