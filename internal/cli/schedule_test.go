package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/schedule"
)

// shownSchedule is what the tests read of the JSON of a schedule.
type shownSchedule struct {
	Name, Times, Words, Overlap, Missed, Jitter, Window, Next, Note string
	Start, End, LastJob                                             *string
	FiresLeft                                                       *int64 `json:"fires_left"`
	Paused, Declared, Drift                                         bool
	Job                                                             struct {
		Kind, Queue string
		Priority    int
		Args        json.RawMessage
		MaxAttempts int `json:"max_attempts"`
		Tags        []string
		Metadata    json.RawMessage
		OrderingKey string `json:"ordering_key"`
	}
	NextTimes   []struct{ Local string } `json:"next_times"`
	ClockChange *struct{ Effect string } `json:"clock_change"`
	Differences []struct {
		Setting      string
		Is, Declared any
	}
	Runs []shownRun
}

type shownRun struct{ Nominal, State, Job, Number string }

func (s *shell) schedule(args ...string) (v shownSchedule) {
	s.Helper()
	s.decode(s.ok(append([]string{"schedule"}, args...)...), &v)
	return v
}

// TestScheduleVerbs is the life of a schedule on both databases.
func TestScheduleVerbs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.expectNote(s.run("schedule", "list", "-o", "table"),
			"No schedules yet; \"holdfast schedule create\" makes one, and programs may declare some.\n")
		got := s.feed(`{"to":"ada"}`, "schedule", "create", "nightly", "report", "-", "--cron", "30 2 * * *", "--tz", "Europe/Berlin",
			"--queue", "slow",
			"--priority", "1", "--max-attempts", "3", "--tag", "night", "--metadata", `{"a":1}`, "--missed", "catch-up", "--window", "1d",
			"--jitter", "30s", "--fires", "9", "--start", "2026-01-01T00:00:00Z", "--end", "9000d", "--paused", "--note", "not yet")
		var v shownSchedule
		s.decode(s.expect(got, 0), &v)
		if v.Words != "every day at 02:30 in Europe/Berlin" || !strings.Contains(string(v.Job.Args), "ada") ||
			v.Job.Queue != "slow" || v.Job.Priority != 1 || v.Job.MaxAttempts != 3 || v.Missed != "catch-up" || v.Window != "24h0m0s" ||
			v.Jitter != "30s" || *v.FiresLeft != 9 || v.Start == nil || v.End == nil || !v.Paused || v.Note != "not yet" || v.Next == "" {
			t.Errorf("created: %+v", v)
		}
		s.expect(s.run("schedule", "create", "nightly", "report", "--every", "1h"), 1,
			`there is a schedule nightly in namespace "default" already; "holdfast schedule update nightly" changes it, and --if-not-exists`)
		got = s.run("schedule", "create", "nightly", "other", "--every", "1h", "--if-not-exists")
		s.expectNote(got, "There is a schedule nightly already; it was left as it is.\n")
		if s.decode(got.stdout, &v); v.Job.Kind != "report" {
			t.Errorf("it was changed: %+v", v)
		}

		v = s.schedule("update", "nightly", "--queue", "fast", "--fires", "none", "--end", "none", "--jitter", "0s", "--overlap", "buffer-one")
		if v.Job.Queue != "fast" || v.Job.Priority != 1 || !slices.Equal(v.Job.Tags, []string{"night"}) || v.FiresLeft != nil || v.End != nil ||
			v.Jitter != "" || v.Overlap != "buffer-one" || v.Missed != "catch-up" || !v.Paused || !strings.Contains(v.Words, "02:30") {
			t.Errorf("updated: %+v", v)
		}
		v = s.schedule("update", "nightly", "--cron", "0 3 * * *", "--skip-gaps")
		if v.Times != "cron 0 3 * * * zone=Europe/Berlin dst=skip" {
			t.Errorf("with another expression: %+v", v)
		}
		if v = s.schedule("update", "nightly", "--tz", "America/New_York"); v.Times != "cron 0 3 * * * zone=America/New_York dst=skip" {
			t.Errorf("with another zone: %+v", v)
		}
		if v = s.schedule("update", "nightly", "--skip-gaps=false"); v.Times != "cron 0 3 * * * zone=America/New_York" {
			t.Errorf("without skipping: %+v", v)
		}
		v = s.schedule("update", "nightly", "--args", `[1]`, "--cron", "0 4 * * *", "--tz", "UTC", "--ordering-key", "k", "--overlap", "skip")
		if v.Words != "every day at 04:00 in UTC" || !strings.Contains(string(v.Job.Args), "1") || v.Job.OrderingKey != "k" ||
			v.Job.Queue != "fast" {
			t.Errorf("updated: %+v", v)
		}
		s.holds(s.ok("schedule", "resume", "nightly", "-o", "table"), "resumed schedule nightly\n")

		id := strings.TrimSpace(s.ok("schedule", "trigger", "nightly", "-q"))
		job := s.job(id)
		if job["source"] != "nightly" || job["nominal"] == nil || job["queue"] != "fast" {
			t.Errorf("%v", job)
		}
		s.holds(s.ok("job", "get", id, "-o", "table"), "schedule       nightly\n")
		got = s.run("schedule", "trigger", "nightly")
		s.expect(got, 1, "schedule nightly: job "+id+" is in the way, as the overlap policy is skip; nothing was enqueued")
		var run shownRun
		if s.decode(got.stdout, &run); run.State != "skipped" || run.Job != id {
			t.Errorf("%+v", run)
		}
		var runs []shownRun
		s.decode(s.ok("schedule", "runs", "nightly"), &runs)
		if len(runs) != 2 || runs[0].State != "skipped" || runs[1].State != "fired" || runs[1].Job != id || runs[1].Number == "" {
			t.Errorf("%+v", runs)
		}
		s.expectNote(s.run("schedule", "runs", "nightly", "--limit", "1"), "Showing the last 1; use --limit or --all for more.\n")
		s.expectNote(s.run("schedule", "runs", "nightly", "--limit", "2"), "")
		if out := s.ok("schedule", "runs", "nightly", "-o", "name", "--all"); out != "job/"+id+"\n" {
			t.Errorf("%q", out)
		}
		if v = s.schedule("get", "nightly"); len(v.NextTimes) != 5 || !strings.HasSuffix(v.NextTimes[0].Local, "T04:00:00Z") || len(v.Runs) != 2 {
			t.Errorf("%+v", v)
		}

		got = s.run("schedule", "pause", "nightly", "never", "--note", "no paper", "-o", "jsonl")
		if s.expect(got, 1, `no such schedule in namespace "default": never; "holdfast schedule list" lists`); strings.Count(got.stdout,
			"\n") != 1 {
			t.Errorf("%s", got.stdout)
		}
		s.holds(s.ok("schedule", "list", "-o", "table"), ": no paper")
		if out := s.ok("schedule", "list", "-o", "id"); out != "nightly\n" {
			t.Errorf("%q", out)
		}
		s.expect(s.run("schedule", "get", "nightly", "-n", "other"), 1, `no such schedule in namespace "other": nightly`)
		got = s.run("schedule", "delete", "nightly", "never", "-o", "jsonl")
		s.expect(got, 1, "no such schedule")
		s.holds(got.stdout, `"schedule":"nightly","deleted":true,"error":null}`)
		s.holds(got.stdout, `"schedule":"never","deleted":false,"error":"no such`)
		for _, verb := range []string{"get", "next", "runs", "resume", "pause", "trigger", "delete"} {
			s.expect(s.run("schedule", verb, "nightly"), 1,
				`no such schedule in namespace "default": nightly; "holdfast schedule list" lists the schedules`)
		}
		s.expect(s.run("schedule", "update", "nightly", "--jitter", "1s"), 1, "no such schedule")
	})
}

// TestBackfill: times that have passed, once for each number.
func TestBackfill(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.ok("schedule", "create", "hourly", "mail", "--every", "1h", "--paused")
		backfill := func(args ...string) outcome {
			return s.run(append([]string{"schedule", "backfill", "hourly", "--from", "2026-01-01T00:00:00Z", "--to"}, args...)...)
		}
		var did struct {
			Number                   *string
			Times, Enqueued, Skipped int
			Exact                    bool
			First                    []string
		}
		if s.decode(s.expect(backfill("2026-01-02T00:00:00Z", "--dry-run"), 0), &did); did.Number != nil || did.Times != 24 || !did.Exact ||
			len(did.First) != 10 || did.First[1] != "2026-01-01T01:00:00.000000Z" || did.Enqueued != 0 {
			t.Errorf("a dry run: %+v", did)
		}
		if s.decode(s.expect(backfill("2026-01-01T03:00:00Z"), 0), &did); did.Enqueued != 3 || did.Number == nil {
			t.Fatalf("%+v", did)
		}
		out := s.expect(backfill("2026-01-01T05:00:00Z", "--number", *did.Number, "-o", "table"), 0)
		want := "enqueued 2 jobs for 5 times of schedule hourly; 3 had their job; the number of the backfill is " + *did.Number + "\n"
		if out != want {
			t.Errorf("repeated: %q, want %q", out, want)
		}
		s.expect(backfill("2026-01-08T00:00:00Z", "--at-once"), app.ExitUsage,
			"this enqueues up to 168 jobs of schedule hourly of namespace default",
			"use --yes")
		s.expect(backfill("2026-01-08T00:00:00Z", "--at-once", "--yes"), 0)
		var count struct{ Jobs int }
		if s.decode(s.ok("job", "count"), &count); count.Jobs != 5+168 {
			t.Errorf("%d jobs", count.Jobs)
		}
		s.ok("schedule", "create", "often", "mail", "--every", "1s", "--paused")
		got := s.run("schedule", "backfill", "often", "--from", "9d", "--to", "1d", "--yes")
		s.expect(got, app.ExitUsage, `schedule "often" has more than 100000 times from`, "backfill it in parts")
		s.holds(s.ok("schedule", "backfill", "often", "--from", "9d", "--to", "1d", "--dry-run", "-o", "table"),
			"there are more than 100000 times")
	})
}

// TestZoneOfSchedule: tables show the times of a schedule as the clock in its zone shows them, and
// no next time while it is paused.
func TestZoneOfSchedule(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.ok("migrate", "up")
	s.ok("schedule", "create", "nightly", "mail", "--cron", "30 2 * * *", "--tz", "Europe/Berlin")
	if got := s.ok("schedule", "list", "-o", "table", "--columns", "next"); strings.Contains(got, "paused") || strings.Contains(got, "never") {
		t.Errorf("it is not paused: %s", got)
	}
	s.ok("schedule", "pause", "nightly")
	s.holds(s.ok("schedule", "list", "-o", "table", "--columns", "next"), "paused")
	span := []string{"schedule", "backfill", "nightly", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z"}
	const last = "Fri 2026-01-02 02:30:00 CET"
	s.holds(s.ok(append(span, "--dry-run", "-o", "table")...), "Thu 2026-01-01 02:30:00 CET\n", last)
	s.ok(span...)
	s.holds(s.ok("schedule", "runs", "nightly", "-o", "table"), last)
	s.holds(s.ok("schedule", "get", "nightly", "-o", "table"), last)
	s.ok("schedule", "create", "hourly", "mail", "--every", "1h", "--paused")
	span[2] = "hourly"
	s.holds(s.ok(append(span, "--dry-run", "-o", "table")...),
		"Thu 2026-01-01 01:00:00 UTC\n")
}

// TestScheduleFires: a node fires what the command has made.
func TestScheduleFires(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.start("dev")
		s.ok("schedule", "create", "once", "exec", `{"command":["true"]}`, "--every", "1s", "--fires", "1")
		until(t, "it has fired", func() bool {
			return s.schedule("get", "once").LastJob != nil || len(s.schedule("get", "once").Runs) > 0
		})
		v := s.schedule("get", "once")
		s.ok("job", "wait", v.Runs[0].Job)
		if job := s.job(v.Runs[0].Job); job["nominal"] != v.Runs[0].Nominal || job["source"] != "once" || v.Next != "" || *v.FiresLeft != 0 {
			t.Errorf("%+v, %v", v, job)
		}
		s.holds(s.ok("schedule", "get", "once", "-o", "table"), "\nit is over: it fires no more\n")
		s.holds(s.ok("schedule", "list", "-o", "table"), "  over  ")
	})
}

// TestTimeThatHasPassed: a time that came while nobody could act on it is due, and one that had
// passed before is over.
func TestTimeThatHasPassed(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	now := time.Now().Truncate(time.Second)
	s.now = func() time.Time { return now }
	at := now.Add(time.Hour).UTC().Format(time.RFC3339)
	for _, name := range []string{"due", "paused"} {
		s.ok("schedule", "create", name, "mail", "--at", at)
	}
	s.ok("schedule", "pause", "paused")
	s.ok("schedule", "create", "missed", "mail", "--at", at, "--missed", "skip")
	s.expect(s.run("schedule", "create", "past", "mail", "--at", now.Add(-time.Hour).UTC().Format(time.RFC3339)), app.ExitUsage,
		"was 60m ago; name a time to come")
	client := s.client()
	past := schedule.New("past", schedule.At(now.Add(-time.Hour)), holdfast.NewTask[string]("mail").Item("ada"))
	if did, err := schedule.Sync(t.Context(), client, past); err != nil || did[0] != schedule.Added {
		t.Fatalf("%v, %v", did, err)
	}
	now = now.Add(2 * time.Hour)
	for name, want := range map[string]string{"due": "due", "paused": "paused", "missed": "over", "past": "over"} {
		list := s.ok("schedule", "list", "-o", "table", "--columns", "name,next")
		if !regexp.MustCompile("(?m)^" + name + " +" + want + "$").MatchString(list) {
			t.Errorf("%s is not %s:\n%s", name, want, list)
		}
		if v := s.schedule("get", name); (v.Next == "") != (want == "over") {
			t.Errorf("the next time of %s is %q", name, v.Next)
		}
	}
	s.holds(s.ok("schedule", "get", "past", "-o", "table"), "\nit is over and has never fired: its times had passed when it was made")
	s.holds(s.ok("schedule", "update", "due", "--jitter", "1s", "-o", "table"), ": it fires when a node leads")
}

// TestScheduleOfCode: what differs from what code declares is shown, and can be undone.
func TestScheduleOfCode(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		s.serve(func(client *holdfast.Client) error {
			report := holdfast.NewKind[string, int]("report")
			if err := report.Handle(client, func(*holdfast.Run, string) (int, error) { return 0, nil }); err != nil {
				return err
			}
			_, err := schedule.Sync(t.Context(), client, schedule.New("nightly", schedule.Cron("30 2 * * *", "Europe/Berlin"), report.Item("ada")))
			return err
		})
		if v := s.schedule("get", "nightly"); !v.Declared || v.Drift || len(v.Differences) != 0 || v.ClockChange == nil ||
			!strings.Contains(v.ClockChange.Effect, "Europe/Berlin") {
			t.Errorf("%+v", v)
		}
		s.holds(s.ok("schedule", "get", "nightly", "-o", "table"), "\nit is as code declares it\n")
		s.ok("schedule", "update", "nightly", "--jitter", "1m", "--queue", "slow")
		v := s.schedule("get", "nightly")
		if !v.Drift || len(v.Differences) != 2 || v.Differences[0].Setting != "jitter" || v.Differences[0].Is != "1m0s" ||
			v.Differences[0].Declared != nil || v.Differences[1].Setting != "job.queue" || v.Differences[1].Declared != "default" {
			t.Errorf("%+v", v.Differences)
		}
		s.holds(s.ok("schedule", "get", "nightly", "-o", "table"), `("holdfast schedule update nightly --reset" undoes that)`)
		s.holds(s.ok("schedule", "list", "-o", "table"), "  yes\n")
		s.expect(s.run("schedule", "update", "nightly", "--reset", "--queue", "x"), app.ExitUsage, "--reset and --queue cannot be used together")
		if v := s.schedule("update", "nightly", "--reset"); v.Drift || v.Job.Queue != "default" {
			t.Errorf("%+v", v)
		}
		s.expectNote(s.run("schedule", "delete", "nightly"),
			"Code declares schedule nightly, which comes back when that starts the next time; to stop it, pause it.\n")
		s.ok("schedule", "create", "by-hand", "report", "--every", "1h")
		s.expect(s.run("schedule", "update", "by-hand", "--reset"), 1,
			`schedule by-hand was not changed: no code has declared the schedule "by-hand"`)
		s.expect(s.run("schedule", "update", "by-hand", "--tz", "Europe/Berlin"), app.ExitUsage, "--tz requires --cron, such as --cron")
		s.expect(s.run("schedule", "update", "by-hand", "--jitter", "2h"), app.ExitUsage,
			"a jitter of 2h0m0s is not less than the 1h0m0s between")
		got := s.run("schedule", "update", "by-hand", "--start", "2026-06-01", "--end", "none")
		s.expect(got, 0)
		s.expect(s.run("schedule", "update", "by-hand", "--end", "2026-05-01"), app.ExitUsage,
			"its end 2026-05-01T00:00:00Z is not after its start")
	})
}

// TestNextWithoutDatabase: the times of flags are shown without one.
func TestNextWithoutDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var next []struct{ At, Local string }
	s.decode(s.ok("schedule", "next", "--cron", "30 2 * * SUN", "--tz", "Europe/Berlin", "--after", "2026-03-20T00:00:00Z", "--limit",
		"2"), &next)
	if len(next) != 2 || next[0].Local != "2026-03-22T02:30:00+01:00" || next[1].Local != "2026-03-29T03:00:00+02:00" ||
		next[1].At != "2026-03-29T01:00:00.000000Z" {
		t.Errorf("%+v", next)
	}
	s.decode(s.ok("schedule", "next", "--cron", "30 2 * * SUN", "--tz", "Europe/Berlin", "--after", "2026-03-20T00:00:00Z", "--limit", "2",
		"--skip-gaps"), &next)
	if len(next) != 2 || next[1].Local != "2026-04-05T02:30:00+02:00" {
		t.Errorf("without the gap: %+v", next)
	}
	got := s.run("schedule", "next", "--every", "90s", "--from", "2026-01-01T00:00:10Z", "--after", "2026-01-01T00:00:00Z", "--limit", "2",
		"-o", "table")
	s.expect(got, 0)
	if !strings.Contains(got.stdout, "Thu 2026-01-01 00:01:40 UTC") || !strings.HasPrefix(got.stderr,
		"every 90 seconds from 2026-01-01 00:00:10 in UTC.\n") {
		t.Errorf("%+v", got)
	}
	got = s.run("schedule", "next", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--limit", "1", "-o", "table")
	s.holds(got.stderr, "The next change of the clock: ")
	one, other := s.ok("schedule", "next", "a", "--cron", "H 4 * * *", "--limit", "1"), s.ok("schedule", "next", "b", "--cron",
		"H 4 * * *", "--limit", "1")
	if one == other {
		t.Errorf("H is not spread by the name: %s", one)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); found != nil {
		t.Errorf("they made %v", found)
	}
}

// TestMistakesInSchedules: each error says what is right, and is found before a database is opened:
// there is none.
func TestMistakesInSchedules(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	now := time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	const every = "create x mail --every 1h "
	for args, words := range map[string]string{
		"create x mail":                                 "schedule create needs the times: --cron '30 2 * * *', --every 90s or --at TIME; see",
		"create x mail --cron 99_*_*_*_*":               `schedule "x": minute "99": want 0 to 59`,
		"create x mail --cron *_*":                      "want five",
		"create x mail --cron 0_0_30_2_*":               "would never fire",
		"create x mail --cron @daily --tz Berlin":       `zone "Berlin": not in the zone database; give a name of it, such as Europe/Berlin`,
		"create x mail --cron @daily --every 1h":        "--cron and --every cannot be used together",
		"create x mail --at 2030-01-01 --every 1h":      "--at and --every cannot be used together",
		"create x mail --cron @daily --at 2030-01-01":   "--at and --cron cannot be used together",
		"create x mail --tz UTC":                        "--tz requires --cron, such as --cron '30 2 * * *' --tz UTC",
		"create x mail --from 2026-01-01 --cron @daily": "--from requires --every, such as --every 24h --from 2026-01-01",
		"create x mail --every 500ms":                   `interval "500ms": want a second at least`,
		"create x mail --every 5":                       `--every: "5" has no unit; write 5s, 5m or 5h`,
		"create x mail --every 1h --from soon":          `--from: "soon" is not a time; write`,
		"create x mail --at soon":                       `--at: "soon" is not a time; write`,
		"create x mail --at 2026-05-31T12:00:00Z":       "--at: 2026-05-31T12:00:00Z was 24h ago; name a time to come, or enqueue the job with",
		every + "--skip-gaps":                           "--skip-gaps requires --cron",
		every + "--jitter 1h":                           "a jitter of 1h0m0s is not less than the 1h0m0s between two of its times; make it",
		every + "--jitter -1s":                          "--jitter -1s is negative",
		every + "--overlap no":                          `--overlap "no": must be skip, allow, buffer-one, buffer-all, `,
		every + "--missed no":                           `--missed "no": must be coalesce, catch-up or skip`,
		every + "--missed catch-up":                     "--missed catch-up requires --window, how far back, such as --window 24h",
		every + "--missed skip --window 1h":             "--window requires --missed catch-up",
		every + "--missed catch-up --window 0s":         "--window 0s is not positive",
		every + "--fires 0":                             `--fires "0": must be 1 or more, or none`,
		every + "--fires all":                           `--fires "all": must be 1 or more, or none`,
		every + "--start noon":                          `--start: "noon" is neither a time`,
		every + "--end noon":                            `--end: "noon" is neither a time`,
		every + "--start 2027-01-01 --end 2026-12-01":   "is not after its start",
		every + "--end 2026-01-01":                      `schedule "x" has no time after now: its times, or its end, have passed`,
		every + "--note x":                              "--note requires --paused",
		every + "--priority 9":                          "priority: 9 is not between 1",
		every + "--timeout -1s":                         "timeout: -1s is not positive",
		every + "--metadata {":                          "--metadata is not JSON",
		every + "--overlap buffer-all --ordering-key k": "remove the ordering key",
		every + "--args {bad":                           "--args: not JSON at byte 2",
		"create x mail {} --every 1h --args {}":         "ARGS and --args cannot be used together",
		"create a\x01b mail --every 1h":                 "contains a control character",
		"create x mail {} {} --every 1h":                "too many arguments: schedule create takes NAME KIND [ARGS]",
		"create x":                                      "missing argument: schedule create takes NAME KIND [ARGS]",
		"update x":                                      "schedule update needs a flag that says what to change, such as --jitter 30s",
		"update x --every 1h --tz UTC":                  "--tz requires --cron",
		"update x --priority 7":                         "priority: 7 is not between 1",
		"update x --cron 99_*_*_*_*":                    `minute "99"`,
		"update x --args {bad":                          "--args: not JSON at byte 2",
		"update x --reset --queue q":                    "--reset and --queue cannot be used together",
		"next":                                          "schedule next needs the name of a schedule, or --cron '30 2 * * *'",
		"next x --limit 0":                              "--limit 0: must be 1 to 10000",
		"next x --after noon":                           `--after: "noon" is neither a time`,
		"next --cron 99_*_*_*_*":                        `holdfast: minute "99": want 0 to 59`,
		"next x --cron 99_*_*_*_*":                      `schedule "x": minute "99": want 0 to 59`,
		"create x mail --cron @every_90s --tz UTC":      "--tz has no effect on an interval",
		"create x mail --cron @EVERY_90s --skip-gaps":   "--skip-gaps has no effect on an interval",
		"next --every 1h -o id":                         "the output of holdfast schedule next has no ids",
		"runs x --limit 0":                              "--limit 0 is not positive",
		"runs x --limit 5 --all":                        "--all and --limit cannot be used together",
		"backfill x":                                    "schedule backfill needs --from and --to, such as --from 2026-01-01 --to 2026-02-01",
		"backfill x --from 2h":                          "schedule backfill needs --from and --to",
		"backfill x --from 1h --to 2h":                  "--to is not later than --from: the range is empty",
		"backfill x --from 1h --to 2026-07-01":          "--to 2026-07-01 is in 29d; a backfill is of times that have passed",
		"backfill x --from 2h --to 1h --number 0":       "--number 0: must be the number of a backfill",
		"backfill x --from 2h --to 1h --number x":       `--number "x" is not an integer`,
		"backfill x --from noon --to 1h":                `--from: "noon" is neither a time`,
		"pause":                                         "missing argument: schedule pause takes SCHEDULE...",
		"trigger":                                       "missing argument: schedule trigger takes SCHEDULE",
		"reusme x":                                      "did you mean resume?",
	} {
		words0 := strings.Fields(args)
		for i := range words0 {
			words0[i] = strings.ReplaceAll(words0[i], "_", " ")
		}
		if out := s.expect(s.run(append([]string{"schedule"}, words0...)...), app.ExitUsage, words); out != "" {
			t.Errorf("%s: %q", args, out)
		}
	}
	if found, err := os.ReadDir(s.dir); err != nil || len(found) > 0 {
		t.Errorf("they made %v, %v", found, err)
	}
	m := migrated(t)
	got := m.run("schedule", "create", "x", "exec", "--every", "1h", "-o", "table")
	m.expect(got, 0)
	m.holds(got.stderr, "The built-in kind exec will reject these args: exec: the args have no command")
	m.holds(got.stdout, "created schedule x: every hour; next on ")
}
