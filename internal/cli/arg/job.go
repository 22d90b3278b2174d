package arg

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/store"
)

// JobFlags are flags that say how a job runs, for one that is enqueued now, changed, or enqueued by
// a schedule.
type JobFlags struct {
	queue       string
	priority    int
	maxAttempts int
	timeout     time.Duration
	heartbeat   time.Duration
	tags        []string
	metadata    string
	attributes  []string
	removed     []string // search attributes that are taken away
}

// Add adds the flags to a verb.
func (f *JobFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.queue, "queue", "", "`QUEUE` to put the job in (default \"default\")")
	flags.IntVar(&f.priority, "priority", 0, "priority `N`, from 1 (highest) to 4 (default 2)")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "fail the job after `N` attempts (default: the handler's, or 25)")
	flags.DurationVar(&f.timeout, "timeout", 0, "limit each attempt to `DURATION` (default: the handler's timeout, or none)")
	flags.DurationVar(&f.heartbeat, "heartbeat-timeout", 0,
		"fail an attempt that makes no progress for `DURATION` (default: the handler's, or no limit)")
	TextsVar(flags, &f.tags, "tag", nil, "`TAG` to find the job by; repeatable")
	flags.StringVar(&f.metadata, "metadata", "", "JSON `OBJECT` to store with the job")
}

// AddAttributes adds the flag that sets search attributes.
func (f *JobFlags) AddAttributes(cmd *cobra.Command) {
	TextsVar(cmd.Flags(), &f.attributes, "attr", nil, "search attribute to find the job by, as `NAME=VALUE`; repeatable")
}

// AddRemovedAttributes adds the flag that takes search attributes away from a job that is there.
func (f *JobFlags) AddRemovedAttributes(cmd *cobra.Command) {
	TextsVar(cmd.Flags(), &f.removed, "remove-attr", nil, "take its search attribute `NAME` away; repeatable")
}

// Options turns the given flags into options of the library.
func (f *JobFlags) Options(given func(string) bool) ([]holdfast.EnqueueOption, error) {
	var opts []holdfast.EnqueueOption
	add := func(flag string, opt func() holdfast.EnqueueOption) {
		if given(flag) {
			opts = append(opts, opt())
		}
	}
	add("queue", func() holdfast.EnqueueOption { return holdfast.Queue(f.queue) })
	add("priority", func() holdfast.EnqueueOption { return holdfast.Priority(f.priority) })
	add("max-attempts", func() holdfast.EnqueueOption { return holdfast.MaxAttempts(f.maxAttempts) })
	add("timeout", func() holdfast.EnqueueOption { return holdfast.Timeout(f.timeout) })
	add("heartbeat-timeout", func() holdfast.EnqueueOption { return holdfast.HeartbeatTimeout(f.heartbeat) })
	add("tag", func() holdfast.EnqueueOption { return holdfast.Tags(f.tags...) })
	if given("metadata") {
		if !json.Valid([]byte(f.metadata)) {
			return nil, Usagef("--metadata is not JSON: %s", output.Clip(f.metadata, 60))
		}
		opts = append(opts, holdfast.Metadata(json.RawMessage(f.metadata)))
	}
	values, err := f.searched()
	return append(opts, values...), err
}

// searched are the options that set search attributes, and take some away.
func (f *JobFlags) searched() (opts []holdfast.EnqueueOption, err error) {
	set := map[string]bool{}
	for _, text := range f.attributes {
		name, value, is := strings.Cut(text, "=")
		if !is || name == "" || value == "" {
			return nil, Usagef("--attr %q: must be NAME=VALUE, such as customer=acme", output.Clip(text, 60))
		}
		set[name] = true
		opts = append(opts, search.Text(name, value))
	}
	for _, name := range f.removed {
		switch {
		case store.CheckAttributeName(name) != nil:
			return nil, Usagef("--remove-attr %q: must be the NAME of a search attribute, such as customer", output.Clip(name, 60))
		case set[name]:
			return nil, Usagef("--remove-attr %s: --attr sets the same search attribute", name)
		}
		opts = append(opts, search.None(name))
	}
	return opts, nil
}
