package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/builtin"
)

// enqueueFlags is what "job enqueue" was told.
type enqueueFlags struct {
	args      string
	from      string // where they stand
	file      string
	keepGoing bool
	wait      bool
	patience  time.Duration // of wait

	queue       string
	priority    int
	in          time.Duration
	at          string
	maxAttempts int
	timeout     time.Duration
	deadline    string
	tags        []string
	metadata    string
	orderingKey string
	unique      string
	onConflict  string
	id          string
}

func (a *app) enqueueCommand() *cobra.Command {
	f := enqueueFlags{from: "--args"}
	cmd := &cobra.Command{
		Use:   "enqueue KIND [ARGS]",
		Short: "Enqueue a job, or one job for each line of a file",
		Long: `Enqueue a job, or one job for each line of a file. The command returns once the job is stored.
ARGS is JSON, @FILE, or - for standard input; the default is {}.

With --file, each line holds the args of one job; empty lines are skipped. Jobs are stored in
batches of up to 1000, one transaction each. If a line is not JSON, contains a NUL character or is
too large, the command stores nothing from that line's batch, prints the line to continue from, and
stops. With --keep-going it skips such lines, stores the rest, and exits with code 1.

--unique takes a comma-separated list that defines when two jobs are duplicates. A duplicate is not
enqueued while the first job is unfinished:
  kind          same kind
  args          same kind and args
  field:NAME    same kind and same value of a field of the args, such as customer or address.city
  queue         also the same queue
  period:1h     also due in the same hour, or any other period
  key:TEXT      same text, whatever the kind
  while:STATE   also while the first job is in this state, such as completed

"holdfast dev" and "holdfast worker" run two built-in kinds. exec runs a command:
` + fieldsOf("exec") + `http sends a request:
` + fieldsOf("http"),
		Example: `  holdfast job enqueue exec '{"command":["gzip","-kf","big.log"]}' --wait
  holdfast job enqueue http '{"method":"POST","url":"https://example.com/hook","body":{"n":1}}' --in 10m --max-attempts 5
  holdfast job enqueue report @report.json --unique args,period:24h --tag nightly
  find . -name '*.log' | jq -cR '{command:["gzip",.]}' | holdfast job enqueue exec --file -`,
		Args:        takes(1, 2),
		Annotations: uses(flagDatabase, flagNamespace, flagOutput, flagQuiet),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				if cmd.Flags().Changed("args") || cmd.Flags().Changed("file") {
					return usagef("ARGS, --args and --file cannot be used together")
				}
				f.args, f.from = args[1], "ARGS"
			}
			opts, err := f.options(cmd.Flags().Changed, a.env.Now())
			if err != nil {
				return err
			}
			err = a.rehearse(ctx, func(ctx context.Context, client *holdfast.Client) error {
				_, err := anyKind(args[0]).Enqueue(ctx, client, json.RawMessage("{}"), opts...)
				return err
			})
			if err != nil {
				return err
			}
			if f.file != "" {
				return a.enqueueFile(ctx, args[0], &f, opts)
			}
			return a.enqueueOne(ctx, args[0], &f, opts)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "{}", "same as ARGS: `JSON`, @FILE, or - for standard input")
	flags.StringVar(&f.file, "file", "", "enqueue one job for each line of `FILE`; - for standard input")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "with --file: skip lines that cannot be enqueued, and exit with code 1")
	flags.BoolVar(&f.wait, "wait", false, "wait for the job and print its result, like \"job wait\"")
	flags.DurationVar(&f.patience, "wait-timeout", 0, "with --wait: stop waiting after `DURATION`, such as 30s; the job continues")
	flags.StringVar(&f.queue, "queue", "", "`QUEUE` to put the job in (default \"default\")")
	flags.IntVar(&f.priority, "priority", 0, "priority `N`, from 1 (highest) to 4 (default 2)")
	flags.DurationVar(&f.in, "in", 0, "run the job after `DURATION`, such as 90s or 24h")
	flags.StringVar(&f.at, "at", "", "run the job at `TIME`, such as 2026-01-31T17:30:00Z or \"2026-01-31 17:30\"")
	flags.IntVar(&f.maxAttempts, "max-attempts", 0, "fail the job after `N` attempts (default: the handler's, or 25)")
	flags.DurationVar(&f.timeout, "timeout", 0,
		"limit each attempt to `DURATION` (default: the handler's timeout, or none); see also --wait-timeout")
	flags.StringVar(&f.deadline, "deadline", "",
		"fail the job if it has not finished by `TIME`, or a duration from now, even if attempts are left")
	flags.StringArrayVar(&f.tags, "tag", nil, "`TAG` to find the job by; repeatable")
	flags.StringVar(&f.metadata, "metadata", "", "JSON `OBJECT` to store with the job")
	flags.StringVar(&f.orderingKey, "ordering-key", "", "run jobs of the queue with the same `KEY` one at a time, in order")
	flags.StringVar(&f.unique, "unique", "", "do not enqueue duplicates, as defined by `LIST`; see above")
	flags.StringVar(&f.onConflict, "on-conflict", "",
		"with --unique: `ACTION` for a duplicate: return the first job's id (default), reject, or replace its args, metadata and time")
	flags.StringVar(&f.id, "id", "", "`ID` of the job, a UUIDv7; enqueueing the same id again does nothing")
	cmd.MarkFlagsMutuallyExclusive("args", "file")
	cmd.MarkFlagsMutuallyExclusive("in", "at")
	cmd.MarkFlagsMutuallyExclusive("id", "file")
	cmd.MarkFlagsMutuallyExclusive("wait", "file")
	return cmd
}

// clocksDiffer is how far a time may be in the past that was meant to be now.
const clocksDiffer = time.Minute

// fieldsOf lists the fields of the args of a built-in kind, for the help.
func fieldsOf(kind string) string {
	var lines strings.Builder
	for _, f := range builtin.Fields(kind) {
		fmt.Fprintf(&lines, "  %-9s %s\n", f.Name, f.Help)
	}
	return lines.String()
}

// options makes the library's options of the flags that were given.
func (f *enqueueFlags) options(given func(string) bool, now time.Time) ([]holdfast.EnqueueOption, error) {
	var opts []holdfast.EnqueueOption
	add := func(flag string, opt func() holdfast.EnqueueOption) {
		if given(flag) {
			opts = append(opts, opt())
		}
	}
	add("queue", func() holdfast.EnqueueOption { return holdfast.Queue(f.queue) })
	add("priority", func() holdfast.EnqueueOption { return holdfast.Priority(f.priority) })
	add("in", func() holdfast.EnqueueOption { return holdfast.In(f.in) })
	add("max-attempts", func() holdfast.EnqueueOption { return holdfast.MaxAttempts(f.maxAttempts) })
	add("timeout", func() holdfast.EnqueueOption { return holdfast.Timeout(f.timeout) })
	add("tag", func() holdfast.EnqueueOption { return holdfast.Tags(f.tags...) })
	add("ordering-key", func() holdfast.EnqueueOption { return holdfast.OrderingKey(f.orderingKey) })
	if given("metadata") {
		if !json.Valid([]byte(f.metadata)) {
			return nil, usagef("--metadata is not JSON: %s", clip(f.metadata, 60))
		}
		opts = append(opts, holdfast.Metadata(json.RawMessage(f.metadata)))
	}
	if given("in") && f.in < 0 {
		return nil, usagef("--in %v is in the past", f.in)
	}
	if given("at") {
		t, err := parseTime(f.at)
		if err == nil && now.Sub(t) > clocksDiffer {
			err = usagef("%s was %s; omit it to run the job now", f.at, ago(now, t))
		}
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		opts = append(opts, holdfast.RunAt(t))
	}
	if given("deadline") {
		t, err := parseDeadline(f.deadline, now)
		if err != nil {
			return nil, fmt.Errorf("--deadline: %w", err)
		}
		opts = append(opts, holdfast.Deadline(t))
	}
	if given("id") {
		id, err := parseID(f.id)
		if err != nil {
			return nil, fmt.Errorf("--id: %w", err)
		}
		if id.Version() != 7 {
			return nil, usagef("--id %s is not a UUIDv7", id)
		}
		opts = append(opts, holdfast.WithID(id))
	}
	switch {
	case f.keepGoing && f.file == "":
		return nil, usagef("--keep-going requires --file")
	case given("wait-timeout") && !f.wait:
		return nil, usagef("--wait-timeout requires --wait")
	case f.patience < 0:
		return nil, usagef("--wait-timeout %v is negative", f.patience)
	}
	unique, err := f.uniqueOption(given)
	return append(opts, unique...), err
}

// parseDeadline reads a time or a duration from now.
func parseDeadline(text string, now time.Time) (time.Time, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return parseTime(text)
	case d <= 0:
		return now, usagef("%v from now is in the past", d)
	}
	return now.Add(d), nil
}

var conflictWords = map[string]holdfast.UniqueOption{
	"return":  holdfast.OnConflict(holdfast.ReturnExisting),
	"reject":  holdfast.OnConflict(holdfast.Reject),
	"replace": holdfast.OnConflict(holdfast.Replace),
}

func (f *enqueueFlags) uniqueOption(given func(string) bool) ([]holdfast.EnqueueOption, error) {
	if !given("unique") {
		if given("on-conflict") {
			return nil, usagef("--on-conflict requires --unique")
		}
		return nil, nil
	}
	opts, err := parseUnique(f.unique)
	if err != nil {
		return nil, err
	}
	if given("on-conflict") {
		conflict, ok := conflictWords[f.onConflict]
		if !ok {
			return nil, usagef("--on-conflict %q: must be return, reject or replace", f.onConflict)
		}
		opts = append(opts, conflict)
	}
	return []holdfast.EnqueueOption{holdfast.Unique(opts...)}, nil
}

// parseUnique reads the list of --unique.
func parseUnique(list string) ([]holdfast.UniqueOption, error) {
	var (
		opts   []holdfast.UniqueOption
		states []holdfast.State
	)
	for part := range strings.SplitSeq(list, ",") {
		word, value, hasValue := strings.Cut(part, ":")
		if needs := word == "field" || word == "period" || word == "key" || word == "while"; needs != (hasValue && value != "") {
			return nil, usagef("--unique %q: must be a list of kind, args, queue, field:NAME, period:1h, key:TEXT and while:STATE", part)
		}
		switch word {
		case "kind": // it always counts
		case "args":
			opts = append(opts, holdfast.ByArgs())
		case "queue":
			opts = append(opts, holdfast.ByQueue())
		case "field":
			opts = append(opts, holdfast.ByFields(value))
		case "key":
			opts = append(opts, holdfast.ByKey(value))
		case "period":
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, usagef("--unique %q: %q is not a duration such as 1h", part, value)
			}
			opts = append(opts, holdfast.ByPeriod(d))
		case "while":
			state, err := holdfast.ParseState(value)
			if err != nil {
				return nil, usagef("--unique %q: there is no state %q", part, value)
			}
			states = append(states, state)
		default:
			return nil, usagef("--unique %q: must be a list of kind, args, queue, field:NAME, period:1h, key:TEXT and while:STATE", part)
		}
	}
	if states != nil {
		unfinished := []holdfast.State{holdfast.Running, holdfast.Retryable, holdfast.Waiting}
		opts = append(opts, holdfast.While(append(unfinished, states...)...))
	}
	return opts, nil
}

// checkFields refuses args without a field that --unique names. The library takes what is missing
// for null: with a name that is misspelt all jobs would be the same.
func (f *enqueueFlags) checkFields(args json.RawMessage) error {
	for part := range strings.SplitSeq(f.unique, ",") {
		if name, ok := strings.CutPrefix(part, "field:"); ok && !hasField(args, name) {
			return fmt.Errorf("the args have no field %q", name)
		}
	}
	return nil
}

// hasField reports whether JSON has a field, such as address.city.
func hasField(data json.RawMessage, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil {
			return false
		}
		value, ok := object[name]
		if !ok {
			return false
		}
		data = value
	}
	return true
}

func (a *app) enqueueOne(ctx context.Context, kind string, f *enqueueFlags, opts []holdfast.EnqueueOption) error {
	args, err := a.readJSON(ctx, f.from, f.args)
	if err != nil {
		return err
	}
	if err := f.checkFields(args); err != nil {
		return usagef("--unique: %w", err)
	}
	return a.withClient(ctx, func(client *holdfast.Client) error {
		job, err := anyKind(kind).Enqueue(ctx, client, args, opts...)
		if err != nil {
			return invalidIsUsage(err)
		}
		if err := builtin.CheckArgs(kind, args); err != nil { // a program of somebody's may have a kind of that name
			a.notef("The built-in kind %s will reject these args: %s", kind, oneLine(err.Error()))
		}
		words := "enqueued job " + job.ID.String()
		switch {
		case job.Replaced:
			words = "job " + job.ID.String() + " already exists and had not started: replaced its args, metadata and run time"
		case job.Existing:
			words = "job " + job.ID.String() + " already exists; nothing was enqueued"
		}
		if f.wait {
			a.notef("%s", words)
			return a.wait(ctx, client, job.ID, f.patience)
		}
		if a.quiet && a.output == "" {
			a.printf("%s", job.ID) // for id=$(…)
			return nil
		}
		view := enqueuedView{ID: job.ID.String(), Existing: job.Existing, Replaced: job.Replaced}
		return a.object(view, func() { a.printf("%s", words) })
	})
}

// checkArgs checks args as the library does, so that a line of a file can be refused before anything of its batch is stored, and in
// the words of what people have typed. It returns them without white space, and otherwise as they are.
func checkArgs(data []byte) (json.RawMessage, error) {
	if len(data) > maxLine {
		return nil, errTooLarge // before a look at it: there may be more than was read
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))
	if len(data) == 0 {
		return nil, errors.New("empty; must be JSON, such as {}")
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not valid UTF-8")
	}
	var args bytes.Buffer
	if err := json.Compact(&args, data); err != nil {
		return nil, notJSON(data)
	}
	switch {
	case args.Len() > holdfast.MaxPayload:
		return nil, errTooLarge
	case holdsNUL(args.Bytes()):
		return nil, errors.New(`contains the NUL character (\u0000), which databases cannot store`)
	}
	return bytes.Clone(args.Bytes()), nil // its buffer has room for the white space
}

// notJSON says where a text stops being JSON.
func notJSON(data []byte) error {
	var syntax *json.SyntaxError
	begin := clip(string(data[:min(len(data), 400)]), 60)
	err := json.Unmarshal(data, new(json.RawMessage)) // which counts bytes
	switch {
	case strings.IndexByte(`{["-0123456789`, data[0]) < 0:
		return fmt.Errorf("not JSON: %s; put a string in double quotes inside the shell's quotes: '\"yes\"'", begin)
	case !errors.As(err, &syntax) || syntax.Offset >= int64(len(data)) && strings.Contains(err.Error(), "unexpected end"):
		return fmt.Errorf("not JSON: unexpected end: %s", begin)
	}
	at := min(max(int(syntax.Offset)-1, 0), len(data)) // the offset counts what was read
	before, after := data[max(0, at-20):at], data[at:min(len(data), at+200)]
	return fmt.Errorf("not JSON at byte %d, after %s: %s",
		at+1, oneLine(string(bytes.ToValidUTF8(before, nil))), clip(string(after), 60))
}

// byteOrderMark is what Windows programs begin files with.
var byteOrderMark = []byte("\uFEFF")

var errTooLarge = fmt.Errorf("larger than %d bytes; store large data elsewhere and pass a reference", holdfast.MaxPayload)

// holdsNUL finds the escape \u0000 in JSON, as the library does: in what stands there. A decoder drops all but the last of the fields
// that have one name.
func holdsNUL(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 {
			return false
		}
		if bytes.HasPrefix(data[at:], []byte(`\u0000`)) {
			return true
		}
		data = data[at+2:] // what is escaped may be a backslash
	}
}
