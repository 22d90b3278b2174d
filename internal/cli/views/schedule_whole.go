package views

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
)

// WholeSchedule is a schedule with its next times, its last runs, and how it differs from code.
type WholeSchedule struct {
	Schedule

	NextTimes   []NextTime    `json:"next_times"`
	ClockChange *ClockChange  `json:"clock_change"`
	Runs        []ScheduleRun `json:"runs"`
	Differences []Difference  `json:"differences"`
}

// ClockChange is the next change of the clock that affects a schedule.
type ClockChange struct {
	At     Timestamp `json:"at"`
	Effect string    `json:"effect"`
}

// Difference is a setting that code declares otherwise.
type Difference struct {
	Setting  string          `json:"setting"`
	Is       json.RawMessage `json:"is"`
	Declared json.RawMessage `json:"declared"`
}

// NewWholeSchedule returns the view of a schedule, its next times and its last runs.
func NewWholeSchedule(s *store.Schedule, now time.Time, next []time.Time, runs []store.ScheduleRun) WholeSchedule {
	v := WholeSchedule{Schedule: NewSchedule(s, now), NextTimes: []NextTime{}, Runs: []ScheduleRun{}, Differences: differences(s, now)}
	for _, at := range next {
		v.NextTimes = append(v.NextTimes, NewNextTime(at))
	}
	if at, effect := schedule.ClockChange(s, now); effect != "" {
		v.ClockChange = &ClockChange{Timestamp(at), effect}
	}
	for i := range runs {
		v.Runs = append(v.Runs, NewScheduleRun(&runs[i]))
	}
	return v
}

// settings are the fields of a Schedule that code declares.
var settings = []string{"times", "job", "overlap", "missed", "window", "jitter", "start", "end"}

// differences compares a schedule with what code declares, setting by setting.
func differences(s *store.Schedule, now time.Time) []Difference {
	found := []Difference{}
	declared := *s
	var ok bool
	if declared.ScheduleSettings, ok = schedule.Declared(s); !ok {
		return found
	}
	is, would := fieldsIn(NewSchedule(s, now)), fieldsIn(NewSchedule(&declared, now))
	for _, name := range settings {
		if name != "job" {
			found = appendDifference(found, name, is[name], would[name])
		}
	}
	isJob, wouldJob := fieldsIn(newScheduledJob(&s.Job)), fieldsIn(newScheduledJob(&declared.Job))
	names := make([]string, 0, len(isJob))
	for name := range isJob {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		found = appendDifference(found, "job."+name, isJob[name], wouldJob[name])
	}
	return found
}

func appendDifference(found []Difference, name string, is, declared json.RawMessage) []Difference {
	if bytes.Equal(is, declared) {
		return found
	}
	return append(found, Difference{Setting: name, Is: is, Declared: declared})
}

// fieldsIn returns the fields of the JSON of a view.
func fieldsIn(view any) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	data, err := output.Encode(view, "", "")
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil
	}
	return fields
}

// PrintSchedule prints a schedule for people.
func PrintSchedule(out *output.Printer, now time.Time, s *store.Schedule, v *WholeSchedule, next []time.Time, runs []store.ScheduleRun) {
	p := jobPrint{out.NewTable(3), now}
	p.line("name", s.Name)
	p.line("namespace", s.Namespace)
	p.line("fires", v.Words)
	p.line("times", s.Times)
	if !s.PausedAt.IsZero() {
		p.line("paused", pausedText(now, s))
	}
	p.scheduledJob(&s.Job)
	p.policies(s)
	p.at("created", s.CreatedAt)
	p.at("changed", s.UpdatedAt)
	p.line("fired", output.Plural(int(s.Fired), "time"))
	p.line("last job", IDText(s.Last))
	p.Flush()
	if len(next) == 0 {
		out.Printf("\n%s", over(s))
	} else {
		out.Printf("\nnext times:")
		w := out.NewTable(2)
		for _, at := range next {
			w.Add(append([]string{""}, NextTimeRow(now, at)...)...)
		}
		w.Flush()
	}
	if v.ClockChange != nil {
		out.Printf("\nnext change of the clock: %s", output.OneLine(v.ClockChange.Effect))
	}
	printDifferences(out, s, v.Differences)
	if len(runs) > 0 {
		out.Printf("\nlast runs:")
		w := out.NewTable(2)
		w.Add(ScheduleRunHeader...)
		for i := range runs {
			w.Add(ScheduleRunRow(now, s, &runs[i])...)
		}
		w.Flush()
	}
}

// scheduledJob prints what a schedule enqueues.
func (p jobPrint) scheduledJob(j *store.ScheduledJob) {
	p.line("kind", j.Kind)
	p.line("queue", j.Queue+", priority "+strconv.Itoa(j.Priority))
	p.line("args", OnOneLine(j.Args, j.Codec))
	if j.MaxAttempts > 0 {
		p.line("max attempts", strconv.Itoa(j.MaxAttempts))
	}
	p.duration("timeout", j.Options.Timeout)
	p.duration("heartbeat timeout", j.Options.Heartbeat)
	p.line("tags", strings.Join(j.Tags, ", "))
	p.line("attributes", attributeText(j.Attributes))
	p.line("metadata", OnOneLine(j.Metadata, 0))
	p.line("ordering key", j.OrderingKey)
	p.line("key", j.Options.Key)
}

// policies prints when a schedule fires, beside its times.
func (p jobPrint) policies(s *store.Schedule) {
	p.line("overlap", s.Overlap.String())
	missed := s.Missed.String()
	if s.Window > 0 {
		missed += ", up to " + s.Window.String() + " back"
	}
	p.line("missed", missed)
	p.duration("jitter", s.Jitter)
	p.at("start", s.Start)
	p.at("end", s.End)
	if s.Left >= 0 {
		p.line("fires left", strconv.FormatInt(s.Left, 10))
	}
}

func (p jobPrint) duration(name string, d time.Duration) {
	if d > 0 {
		p.line(name, d.String())
	}
}

// printDifferences prints what code declares otherwise.
func printDifferences(out *output.Printer, s *store.Schedule, found []Difference) {
	switch {
	case s.Declared == "":
		return
	case len(found) == 0:
		out.Printf("\nit is as code declares it")
		return
	}
	out.Printf("\nit differs from what code declares (\"holdfast schedule update %s --reset\" undoes that):", output.Quote(s.Name))
	w := out.NewTable(2)
	w.Add("SETTING", "IS", "DECLARED")
	for _, d := range found {
		w.Add(d.Setting, output.Clip(output.CellOf(d.Is), 60), output.Clip(output.CellOf(d.Declared), 60))
	}
	w.Flush()
}
