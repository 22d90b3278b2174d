package jobs

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	jobbatch "github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/fair"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// enqueueFlags are the flags of "job enqueue".
type enqueueFlags struct {
	arg.JobFlags

	args      string
	from      string // where the args come from
	file      string
	keepGoing bool
	wait      bool
	patience  time.Duration // of --wait

	in          time.Duration
	at          string
	deadline    string
	orderingKey string
	unique      string
	onConflict  string
	maxDelay    time.Duration
	key         string
	keepKey     string
	id          string
	limitKey    string
	fairKey     string
	after       dependFlags
	follow      []string
	keepTurn    bool
	batch       string
	trace       app.TraceFlag
}

func (f *enqueueFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "{}", "same as ARGS: `JSON`, @FILE, or - for standard input")
	flags.StringVar(&f.file, "file", "", "enqueue one job for each line of `FILE`; - for standard input")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "with --file: skip lines that cannot be enqueued, and exit with code 1")
	flags.BoolVar(&f.wait, "wait", false, "wait for the job and print its result, like \"job wait\"")
	flags.DurationVar(&f.patience, "wait-timeout", 0, "with --wait: stop waiting after `DURATION`, such as 30s; the job continues")
	f.addChanges(cmd)
	f.AddAttributes(cmd)
	f.addKeys(cmd)
	flags.StringVar(&f.id, "id", "", "`ID` of the job, a UUIDv7; enqueueing the same id again does nothing")
	f.trace.Add(cmd)
	f.after.add(cmd, "after", "let the job wait until the job `ID` has finished; repeatable")
	flags.StringVar(&f.batch, "batch", "", "add the job to the batch `ID`, which is open")
	arg.TextsVar(flags, &f.follow, "follow", nil,
		"enqueue a follow-up, `END=KIND[:ARGS]`, that runs if the job's end is completed, failed, cancelled or any; repeatable")
	cmd.MarkFlagsMutuallyExclusive("args", "file")
	cmd.MarkFlagsMutuallyExclusive("id", "file")
	cmd.MarkFlagsMutuallyExclusive("wait", "file")
	cmd.MarkFlagsMutuallyExclusive("key", "file")
	cmd.MarkFlagsMutuallyExclusive("key", "unique")
}

// addKeys adds the flags with keys that jobs share.
func (f *enqueueFlags) addKeys(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.orderingKey, "ordering-key", "", "run jobs of the queue with the same `KEY` one at a time, in order")
	flags.StringVar(&f.limitKey, "limit-key", "", "count the job in a limit per key: `LIMIT=KEY`, such as customer=acme")
	flags.StringVar(&f.fairKey, "fair-key", "", "take turns with jobs of other keys in the queue; `KEY` is for whom the job is, such as acme")
	flags.BoolVar(&f.keepTurn, "keep-turn", false,
		"with --ordering-key: if the job fails, those behind it wait until it is retried, skipped or deleted")
	flags.StringVar(&f.unique, "unique", "", "do not enqueue duplicates, as defined by `LIST`; see above")
	flags.StringVar(&f.onConflict, "on-conflict", "",
		"with --unique: `ACTION` for a duplicate: return the first job's id (default), reject, or replace its args, metadata and time")
	flags.DurationVar(&f.maxDelay, "max-delay", 0,
		"with --on-conflict replace: run the job at most `DURATION` after it was enqueued, however often its time is replaced")
	flags.StringVar(&f.key, "key", "",
		"business `KEY` of the job, such as order-42; if a job of the kind holds it already, enqueue nothing and return that job's id")
	flags.StringVar(&f.keepKey, "keep-key", "",
		"with --key: the job holds the key for `DURATION` after its end, or forever (default: until it has finished)")
}

// addChanges adds the flags that can change a job later, too.
func (f *enqueueFlags) addChanges(cmd *cobra.Command) {
	f.Add(cmd)
	flags := cmd.Flags()
	flags.Lookup("timeout").Usage += "; see also --wait-timeout"
	flags.DurationVar(&f.in, "in", 0, "run the job after `DURATION`, such as 90s or 24h")
	flags.StringVar(&f.at, "at", "", "run the job at `TIME`, such as 2026-01-31T17:30:00Z or \"2026-01-31 17:30\"")
	flags.StringVar(&f.deadline, "deadline", "",
		"fail the job if it has not finished by `TIME`, or a duration from now, even if attempts are left")
	cmd.MarkFlagsMutuallyExclusive("in", "at")
}

// checkPairs refuses flags without those that they belong to.
func (f *enqueueFlags) checkPairs(given func(string) bool) error {
	switch {
	case f.keepGoing && f.file == "":
		return arg.Usagef("--keep-going requires --file")
	case given("wait-timeout") && !f.wait:
		return arg.Usagef("--wait-timeout requires --wait")
	case f.keepTurn && !given("ordering-key"):
		return arg.Usagef("--keep-turn requires --ordering-key")
	case given("keep-key") && !given("key"):
		return arg.Usagef("--keep-key requires --key")
	}
	return checkPatience(given, f.patience)
}

// options turns the given flags into options of the library.
func (f *enqueueFlags) options(given func(string) bool, now time.Time) ([]holdfast.EnqueueOption, error) {
	opts, err := f.Options(given)
	if err != nil {
		return nil, err
	}
	add := func(flag string, opt func() holdfast.EnqueueOption) {
		if given(flag) {
			opts = append(opts, opt())
		}
	}
	add("in", func() holdfast.EnqueueOption { return holdfast.Delay(f.in) })
	add("key", func() holdfast.EnqueueOption { return holdfast.Key(f.key) })
	add("ordering-key", func() holdfast.EnqueueOption { return holdfast.OrderingKey(f.orderingKey) })
	add("fair-key", func() holdfast.EnqueueOption { return fair.Key(f.fairKey) })
	if f.keepTurn {
		opts = append(opts, after.KeepTurn())
	}
	if given("keep-key") {
		keep, err := arg.ParseKeep(f.keepKey)
		if err != nil {
			return nil, fmt.Errorf("--keep-key: %w", err)
		}
		opts = append(opts, holdfast.KeepKey(keep))
	}
	if name, key, ok := strings.Cut(f.limitKey, "="); ok {
		opts = append(opts, limit.By(name, key))
	} else if given("limit-key") {
		return nil, arg.Usagef("--limit-key %s is not LIMIT=KEY, such as customer=acme", output.OneLine(f.limitKey))
	}
	times, err := f.timeOptions(given, now)
	if err != nil {
		return nil, err
	}
	opts = append(opts, times...)
	ids, err := f.idOptions(given)
	if err != nil {
		return nil, err
	}
	opts = append(opts, ids...)
	if err := f.checkPairs(given); err != nil {
		return nil, err
	}
	waits, err := f.after.option(given)
	if err != nil {
		return nil, err
	}
	follows, err := followUps(f.follow)
	if err != nil {
		return nil, err
	}
	waits = append(waits, follows...)
	unique, err := f.uniqueOption(given)
	return append(append(opts, waits...), unique...), err
}

// idOptions are those of the ids of the job and of its batch.
func (f *enqueueFlags) idOptions(given func(string) bool) (opts []holdfast.EnqueueOption, err error) {
	if given("id") {
		id, err := arg.ParseNewID("id", f.id)
		if err != nil {
			return nil, err
		}
		opts = append(opts, holdfast.JobID(id))
	}
	if given("batch") {
		id, err := arg.ParseBatchID(f.batch)
		if err != nil {
			return nil, fmt.Errorf("--batch: %w", err)
		}
		opts = append(opts, jobbatch.Member(id))
	}
	return opts, nil
}

// timeOptions are the options about times.
func (f *enqueueFlags) timeOptions(given func(string) bool, now time.Time) (opts []holdfast.EnqueueOption, err error) {
	if given("in") && f.in < 0 {
		return nil, arg.Usagef("--in %v is in the past", f.in)
	}
	if given("at") {
		t, err := arg.ParseTime(f.at)
		if err == nil && now.Sub(t) > clocksDiffer {
			err = arg.Usagef("%s was %s; to run the job now, use --in 0s", f.at, output.Ago(now, t))
		}
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		opts = append(opts, holdfast.RunAt(t))
	}
	if given("deadline") {
		t, err := arg.ParseFromNow(f.deadline, now)
		if err != nil {
			return nil, fmt.Errorf("--deadline: %w", err)
		}
		opts = append(opts, holdfast.Deadline(t))
	}
	return opts, nil
}

// clocksDiffer is how far in the past a time may be, because clocks differ.
const clocksDiffer = time.Minute

var conflictWords = map[string]store.OnConflict{
	"return":  store.ReturnExisting,
	"reject":  store.Reject,
	"replace": store.Replace,
}

func (f *enqueueFlags) uniqueOption(given func(string) bool) ([]holdfast.EnqueueOption, error) {
	if !given("unique") {
		for _, flag := range []string{"on-conflict", "max-delay"} {
			if given(flag) {
				return nil, arg.Usagef("--%s requires --unique", flag)
			}
		}
		return nil, nil
	}
	unique, err := parseUnique(f.unique)
	if err != nil {
		return nil, err
	}
	if given("on-conflict") {
		conflict, ok := conflictWords[f.onConflict]
		if !ok {
			return nil, arg.Usagef("--on-conflict %q: must be return, reject or replace", f.onConflict)
		}
		unique.OnConflict = conflict
	}
	switch {
	case given("max-delay") && unique.OnConflict != store.Replace:
		return nil, arg.Usagef("--max-delay requires --on-conflict replace")
	case given("max-delay") && f.maxDelay <= 0:
		return nil, arg.Usagef("--max-delay %v: must be positive", f.maxDelay)
	case given("max-delay") && given("at"):
		return nil, arg.Usagef("--max-delay and --at cannot be used together; use --in")
	case given("max-delay") && f.in > f.maxDelay:
		return nil, arg.Usagef("--in %v is longer than --max-delay %v", f.in, f.maxDelay)
	}
	unique.MaxDelay = f.maxDelay
	return []holdfast.EnqueueOption{unique}, nil
}

// parseUnique parses the list of --unique.
func parseUnique(list string) (holdfast.Unique, error) {
	var unique holdfast.Unique
	for part := range strings.SplitSeq(list, ",") {
		word, value, hasValue := strings.Cut(part, ":")
		if needs := word == "field" || word == "period" || word == "key" || word == "while"; needs != (hasValue && value != "") {
			return unique, arg.Usagef("--unique %q: must be a list of kind, args, queue, field:NAME, period:1h, key:TEXT and while:STATE", part)
		}
		switch word {
		case "kind": // always included
		case "args":
			unique.ByArgs = true
		case "queue":
			unique.ByQueue = true
		case "field":
			unique.ByFields = append(unique.ByFields, value)
		case "key":
			unique.ByKey = value
		case "period":
			d, err := time.ParseDuration(value)
			if err != nil {
				return unique, arg.Usagef("--unique %q: %q is not a duration such as 1h", part, value)
			}
			if d < time.Second {
				return unique, arg.Usagef("--unique %q: the period is shorter than a second", part)
			}
			unique.ByPeriod = d
		case "while":
			state, err := store.ParseState(value)
			if err != nil {
				return unique, arg.Usagef("--unique %q: there is no state %q", part, value)
			}
			unique.While = append(unique.While, state)
		default:
			return unique, arg.Usagef("--unique %q: must be a list of kind, args, queue, field:NAME, period:1h, key:TEXT and while:STATE", part)
		}
	}
	if unique.While != nil {
		unique.While = append(unique.While, store.Running, store.Retryable, store.Waiting)
	}
	return unique, nil
}

// checkFields refuses args without a field that --unique names. The library takes a missing field
// for null, so with a misspelt name all jobs would be the same.
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
