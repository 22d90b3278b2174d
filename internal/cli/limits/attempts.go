package limits

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
)

// attemptFlags are the flags that set how the jobs of a queue are attempted, and how long they are
// kept.
type attemptFlags struct {
	attempts           int
	backoff            string
	timeout, heartbeat time.Duration
	unset              []string
	retention          string
}

func (f *attemptFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.attempts, "max-attempts", 0, "fail a job after `N` attempts, unless its enqueue says how many it has")
	flags.StringVar(&f.backoff, "backoff", "", "`BASE,LIMIT` of the waits after failed attempts: 1s,1h is 1s, 2s, 4s and so on, at most 1h")
	flags.DurationVar(&f.timeout, "timeout", 0, "limit each attempt to `DURATION`")
	flags.DurationVar(&f.heartbeat, "heartbeat-timeout", 0, "fail an attempt that makes no progress for `DURATION`")
	flags.StringVar(&f.retention, "retention", "", "keep finished jobs as this `CLASS` says; \"retention set\" makes one")
	arg.TextsVar(flags, &f.unset, "unset", nil,
		"leave `SETTING` to the handler again: max-attempts, backoff, timeout, heartbeat-timeout or retention; "+
			"repeatable, or a comma-separated list")
}

// change is what the flags say. given is false if they say nothing.
func (f *attemptFlags) change(isGiven func(string) bool) (p store.SetQueueParams, given bool, err error) {
	for _, name := range names(f.unset) {
		of, err := store.SettingNamed(name)
		if err != nil {
			return p, true, arg.InvalidIsUsage(err)
		}
		p.Unset |= of
	}
	p.Set = store.AttemptSettings{MaxAttempts: f.attempts, Timeout: f.timeout, Heartbeat: f.heartbeat, Retention: f.retention}
	for flag, zero := range map[string]bool{
		"max-attempts": f.attempts == 0, "timeout": f.timeout == 0, "heartbeat-timeout": f.heartbeat == 0, "backoff": f.backoff == "",
	} {
		if given = given || isGiven(flag); isGiven(flag) && zero {
			return p, true, arg.Usagef("--%s is nothing; to leave it to the handler again use --unset %s", flag, flag)
		}
	}
	given = given || f.retention != ""
	if f.backoff != "" {
		p.Set.Backoff, err = backoffOf(f.backoff)
	}
	return p, given || p.Unset != 0, err
}

// backoffOf reads a backoff.
func backoffOf(text string) (store.Backoff, error) {
	b := store.DefaultBackoff
	base, limit, both := strings.Cut(text, ",")
	var err error
	if b.Base, err = arg.ParseDuration(base); err == nil && both {
		b.Cap, err = arg.ParseDuration(limit)
	}
	if err != nil {
		return b, arg.Usagef("--backoff %s is not one or two durations, such as 1s,1h", output.OneLine(text))
	}
	if !both {
		b.Cap = max(b.Cap, b.Base)
	}
	return b, nil
}

// setAttempts sets how the jobs of a queue are attempted.
func (a verbs) setAttempts(ctx context.Context, queue string, p *store.SetQueueParams) error {
	set := func(ctx context.Context, client *holdfast.Client) (store.QueueAttempts, error) {
		return client.SetQueue(ctx, queue, p.Set, p.Unset)
	}
	err := a.Rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
		_, err := set(ctx, client)
		return err
	})
	if err != nil {
		return arg.InvalidIsUsage(err)
	}
	return a.WithClient(ctx, func(client *holdfast.Client) error {
		is, err := set(ctx, client)
		if err != nil {
			return err
		}
		return a.Object(views.NewSetQueue(client.Namespace(), queue, is), func() {
			text := is.String()
			if text == "" {
				text = "nothing is set; its jobs are attempted as they, their handlers and their kinds say, and kept as others"
			}
			a.Printf("queue %s: %s", output.OneLine(queue), text)
		})
	})
}

// names are those of all lists, which have commas between them.
func names(lists []string) (all []string) {
	for _, list := range lists {
		all = append(all, strings.Split(list, ",")...)
	}
	return all
}
