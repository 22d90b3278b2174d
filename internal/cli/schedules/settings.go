package schedules

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// settingsFlags are the flags that say what a schedule does: all of "schedule create", and those
// that "schedule update" can change.
type settingsFlags struct {
	arg.JobFlags
	timesFlags

	args        string
	orderingKey string
	overlap     string
	missed      string
	window      time.Duration
	jitter      time.Duration
	start, end  string
	fires       string
}

var (
	overlapUsage = "`POLICY` while the job before has not finished: " + output.Or(store.OverlapNames())
	missedUsage  = "`POLICY` for times at which no node was alive, or it was paused: " + output.Or(store.MissedNames())
)

// none is the value of a bound that there is not.
const none = "none"

func (f *settingsFlags) add(cmd *cobra.Command) {
	f.Add(cmd)
	f.AddAttributes(cmd)
	f.timesFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.args, "args", "{}", "same as ARGS: `JSON`, @FILE, or - for standard input")
	flags.StringVar(&f.orderingKey, "ordering-key", "", "run jobs of the queue with the same `KEY` one at a time, in order")
	flags.StringVar(&f.overlap, "overlap", "", overlapUsage+" (default skip)")
	flags.StringVar(&f.missed, "missed", "", missedUsage+" (default coalesce)")
	flags.DurationVar(&f.window, "window", 0, "with --missed catch-up: make up for times of the last `DURATION`, such as 24h")
	flags.DurationVar(&f.jitter, "jitter", 0, "enqueue each job up to `DURATION` after its time, such as 30s")
	flags.StringVar(&f.start, "start", "", "no time before `TIME`, or a duration from now; none: no start")
	flags.StringVar(&f.end, "end", "", "no time at `TIME` or later, or a duration from now; none: no end")
	flags.StringVar(&f.fires, "fires", "", "fire `N` times, skipped ones included, and then no more; none: without a bound")
}

// options turns the given flags, but those of the times and of the job, into options of the
// library.
func (f *settingsFlags) options(given func(string) bool, now time.Time) (opts []schedule.Option, err error) {
	if opts, err = f.policies(given); err != nil {
		return nil, err
	}
	for _, bound := range []struct {
		flag, text string
		option     func(time.Time) schedule.Option
	}{{"start", f.start, schedule.Start}, {"end", f.end, schedule.End}} {
		var at time.Time
		switch {
		case !given(bound.flag):
			continue
		case bound.text != none:
			if at, err = arg.ParseFromNow(bound.text, now); err != nil {
				return nil, fmt.Errorf("--%s: %w", bound.flag, err)
			}
		}
		opts = append(opts, bound.option(at))
	}
	if given("fires") {
		n, err := parseFires(f.fires)
		if err != nil {
			return nil, err
		}
		opts = append(opts, schedule.Fires(n))
	}
	return opts, nil
}

func parseFires(text string) (int64, error) {
	if text == none {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, arg.Usagef("--fires %q: must be 1 or more, or none; \"holdfast schedule pause\" stops a schedule", text)
	}
	return n, nil
}

// policies are the options about jobs that overlap, times that were missed, and jitter.
func (f *settingsFlags) policies(given func(string) bool) (opts []schedule.Option, err error) {
	if given("overlap") {
		policy, err := store.ParseOverlap(f.overlap)
		if err != nil {
			return nil, arg.Usagef("--overlap %q: must be %s", f.overlap, output.Or(store.OverlapNames()))
		}
		opts = append(opts, schedule.Overlap(policy))
	}
	catchUp := given("missed") && f.missed == store.MissedCatchUp.String()
	switch {
	case given("window") && !catchUp:
		return nil, arg.Usagef("--window requires --missed catch-up")
	case catchUp && !given("window"):
		return nil, arg.Usagef("--missed catch-up requires --window, how far back, such as --window 24h")
	case catchUp && f.window <= 0:
		return nil, arg.Usagef("--window %v is not positive", f.window)
	case catchUp:
		opts = append(opts, schedule.CatchUp(f.window))
	case given("missed"):
		switch policy, err := store.ParseMissed(f.missed); {
		case err != nil:
			return nil, arg.Usagef("--missed %q: must be %s", f.missed, output.Or(store.MissedNames()))
		case policy == store.MissedSkip:
			opts = append(opts, schedule.SkipMissed())
		default:
			opts = append(opts, schedule.Coalesce())
		}
	}
	if given("jitter") {
		if f.jitter < 0 {
			return nil, arg.Usagef("--jitter %v is negative", f.jitter)
		}
		opts = append(opts, schedule.Jitter(f.jitter))
	}
	return opts, nil
}

// jobOptions are those of the job.
func (f *settingsFlags) jobOptions(given func(string) bool) ([]holdfast.EnqueueOption, error) {
	opts, err := f.Options(given)
	if err == nil && given("ordering-key") {
		opts = append(opts, holdfast.OrderingKey(f.orderingKey))
	}
	return opts, err
}

// item is what a schedule of the kind enqueues.
func item(kind string, args json.RawMessage, opts []holdfast.EnqueueOption) holdfast.BatchItem {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](kind).Item(args, opts...)
}

// timesFlags are the flags that say when a schedule fires.
type timesFlags struct {
	cron     string
	zone     string
	skipGaps bool
	every    time.Duration
	from     string
	at       string
}

func (f *timesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.cron, "cron", "", "fire by a cron `EXPRESSION`, such as '30 2 * * MON-FRI' or @daily")
	flags.StringVar(&f.zone, "tz", "", "with --cron: in this time `ZONE`, such as Europe/Berlin (default UTC)")
	flags.BoolVar(&f.skipGaps, "skip-gaps", false, "with --cron: leave out times that the clock goes over when it is set forward")
	flags.DurationVar(&f.every, "every", 0, "fire each `DURATION`, such as 90s, whatever the clock shows")
	flags.StringVar(&f.from, "from", "", "with --every: counted from `TIME` (default: from 1970 in UTC)")
	flags.StringVar(&f.at, "at", "", "fire once, at `TIME`, such as 2026-01-31T17:30:00Z or \"2026-01-31 17:30\"")
	for _, pair := range [][]string{{"cron", "every"}, {"cron", "at"}, {"every", "at"}} {
		cmd.MarkFlagsMutuallyExclusive(pair...)
	}
}

// over completes the flags by what a schedule has: of a cron expression, its zone and whether it
// skips gaps, what is not given stays.
func (f *timesFlags) over(given func(string) bool, s *store.Schedule) (timesFlags, func(string) bool) {
	all := *f
	expression, zone, skipsGaps, ok := schedule.CronOf(s)
	if !ok || given("every") || given("at") || !given("cron") && !given("tz") && !given("skip-gaps") {
		return all, given
	}
	if !given("cron") {
		all.cron = expression
	}
	if !given("tz") {
		all.zone = zone
	}
	if !given("skip-gaps") {
		all.skipGaps = skipsGaps
	}
	return all, func(flag string) bool { return flag == "cron" || given(flag) }
}

// isInterval reports whether the cron expression is an interval, on which no clock has an effect.
func (f *timesFlags) isInterval() bool {
	fields := strings.Fields(f.cron)
	return len(fields) > 0 && strings.EqualFold(fields[0], "@every")
}

// exampleTimes are examples of the flags of which one is needed.
const exampleTimes = "--cron '30 2 * * *', --every 90s or --at TIME"

// times are those of the flags, nil if there are none.
func (f *timesFlags) times(given func(string) bool, now time.Time) (*schedule.Times, error) {
	switch {
	case given("tz") && !given("cron"):
		return nil, arg.Usagef("--tz requires --cron, such as --cron '30 2 * * *' --tz %s", output.Quote(f.zone))
	case given("skip-gaps") && !given("cron"):
		return nil, arg.Usagef("--skip-gaps requires --cron")
	case given("tz") && f.isInterval():
		return nil, arg.Usagef("--tz has no effect on an interval, as @every is; leave it out")
	case given("skip-gaps") && f.isInterval():
		return nil, arg.Usagef("--skip-gaps has no effect on an interval, as @every is; leave it out")
	case given("from") && !given("every"):
		return nil, arg.Usagef("--from requires --every, such as --every 24h --from %s", output.Quote(f.from))
	}
	var times schedule.Times
	switch {
	case given("cron"):
		if times = schedule.Cron(strings.TrimSpace(f.cron), f.zone); f.skipGaps {
			times = times.SkipGaps()
		}
	case given("from"):
		anchor, err := arg.ParseTime(f.from)
		if err != nil {
			return nil, fmt.Errorf("--from: %w", err)
		}
		times = schedule.EveryFrom(f.every, anchor)
	case given("every"):
		times = schedule.Every(f.every)
	case given("at"):
		at, err := arg.ParseTime(f.at)
		if err == nil && !at.After(now) {
			err = arg.Usagef("%s was %s; name a time to come, or enqueue the job with \"holdfast job enqueue\"", f.at, output.Ago(now, at))
		}
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		times = schedule.At(at)
	default:
		return nil, nil
	}
	return &times, nil
}
