package views

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/stats"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

var update = flag.Bool("update", false, "write testdata")

// sampleTime is the time of the samples.
var sampleTime = time.Date(2026, time.January, 31, 17, 30, 0, 123_456_000, time.UTC)

// sampleRecord is a job of which everything is known.
func sampleRecord() *store.Record {
	at := sampleTime
	id := uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64")
	return &store.Record{
		Job: store.Job{
			ID: id, Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte(`{"to":"<ada>","lines":["a\nb"],"n":1e3}`),
			CreatedAt: at, RunAt: at, Attempt: 3, MaxAttempts: 5, Tags: []string{"nightly", "yes"}, Metadata: []byte(`{"customer":7}`),
			Options: store.Options{
				Timeout: 90 * time.Second, Source: "cli", Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25},
			},
			Version: "2", LeaseNumber: 9, OrderingKey: "é\u202e",
		},
		State: store.Failed, Reason: store.ReasonTerminal, Error: "the printer is: \"on fire\"\nand out of paper", Fingerprint: 1,
		Lease: store.Lease{Number: 9, Node: 7}, Build: store.Build{Program: "v1.2.3+dirty", Engine: "v0.9.0"},
		ClaimedAt: at, StartedAt: at, FinishedAt: at.Add(time.Second),
		Attempts: []store.Attempt{{
			Number: 3, LeaseNumber: 9, Node: 7, Build: store.Build{Program: "v1.2.2"},
			ClaimedAt: at, StartedAt: at, EndedAt: at.Add(time.Second), Outcome: store.Failed,
			Reason: store.ReasonTerminal, Error: "panic: oops", Trace: "goroutine 7 [running]:\nmain.send()\n\t/app/main.go:12 +0x1d\n",
		}},
		Actions: []store.Action{{At: at, Kind: store.ActionRetry, Actor: "ada@host", Reason: "there is paper"}},
	}
}

// sampleSchedule is a schedule that code declares, and that a person has changed and paused.
func sampleSchedule() *store.Schedule {
	s := &store.Schedule{
		Namespace: "default", Name: "nightly", Left: -1, PausedAt: sampleTime, PausedBy: "ada@host", Note: "there is no paper",
		ScheduleSettings: store.ScheduleSettings{
			Times: "cron 30 2 * * * zone=Europe/Berlin",
			Job: store.ScheduledJob{
				Kind: "report", Queue: "default", Priority: 2, Args: []byte(`{"to":"ada"}`), MaxAttempts: 3, Tags: []string{"night"},
				Options: store.Options{Timeout: 90 * time.Second, Backoff: store.Backoff{Base: time.Second, Cap: time.Minute, Jitter: 0.25}},
			},
			Overlap: store.OverlapBufferOne, Missed: store.MissedCatchUp, Window: 24 * time.Hour,
		},
		NextAt: sampleTime.Add(time.Hour), Version: 7, Fired: 41, Last: uuid.MustParse("01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"),
		CreatedAt: sampleTime, UpdatedAt: sampleTime,
	}
	s.Declared, _ = s.Encode()
	s.Job.Queue, s.Jitter, s.Left, s.End = "slow", 30*time.Second, 5, sampleTime.AddDate(1, 0, 0)
	return s
}

// sample is a value of a view, as an object or as the only element of a list.
type sample struct {
	value any
	list  []string                // the header, for a list
	row   func() []string         // its row
	print func(p *output.Printer) // an object as a table
}

func samples() []sample {
	r := sampleRecord()
	node := &store.Node{
		ID: 7, StartedAt: sampleTime, BeatAt: sampleTime, Running: 3, Leader: true,
		Info: store.NodeInfo{
			Name: "host[12]", Version: "v1.2.3", Namespace: "default", Queues: []string{"mail"}, Kinds: []string{"send@2", "exec"}, Slots: 100,
			QueueSlots: map[string]int{"mail": 10}, DeadAfter: 20 * time.Second,
		},
	}
	queue := &store.Queue{
		Namespace: "default", Name: "mail", CreatedAt: sampleTime, PausedAt: sampleTime, PausedBy: "ada@host", OldestDue: sampleTime,
		Counts: map[store.State]store.Count{store.Available: {N: store.CountBound, More: true}, store.Running: {N: 3}},
	}
	batch := &store.JobBatch{
		ID: r.ID, Namespace: "default", BatchSettings: store.BatchSettings{Name: "import"}, CreatedAt: sampleTime, ClosedAt: sampleTime,
		Counts: store.BatchCounts{Completed: 4, Failed: 2, Cancelled: 1},
	}
	done := *batch
	done.DoneAt = sampleTime
	now := sampleTime.Add(time.Minute)
	cause := []why.Cause{{Code: why.Paused, Text: "queue mail has been paused", Until: sampleTime}}
	full := why.Cause{Code: why.Limit, Text: "full", Limit: "slack"}
	reasons := why.Explanation{Job: r.ID, State: store.Available, Causes: append(slices.Clip(cause), full)}
	unserved := []store.Unserved{{Namespace: "default", Queue: "mail", Kind: "send", Version: "1", Known: true, OldestDue: sampleTime}}
	kind := KindsOf("default", []store.Node{*node}, unserved, nil, sampleTime)[1]
	at := time.Date(2026, time.January, 31, 1, 30, 0, 0, time.UTC)
	nightly := sampleSchedule()
	nextTimes := NextOf(nightly, now, 2)
	runs := []store.ScheduleRun{
		{Nominal: at, State: store.RunSkipped, Job: r.ID, At: sampleTime},
		{Nominal: at.AddDate(0, 0, -1), Manual: 1<<60 + 1, State: store.RunFired, Job: r.ID, At: sampleTime},
	}
	ofQueue := &store.Limit{
		Namespace: "default", Name: "queue:mail", CreatedAt: sampleTime, UpdatedAt: sampleTime,
		LimitSettings: store.LimitSettings{Capacity: 2, Rate: &store.Rate{Count: 5, Per: time.Minute}, Queues: []string{"mail"}},
	}
	op := sampleOperation(r.ID)
	point, onNode, ofDatabase := sampleStats()
	others := stats.Point{At: sampleTime, Length: time.Minute, Other: true, Failed: 1, Lost: 1, PerSecond: 1.0 / 60}
	class := &store.RetentionClass{
		Name: "audit", Completed: 36 * time.Hour, Failed: store.KeepForever,
		SetAt: now.Add(-time.Hour), SetBy: "ada",
	}
	told := &describe.Described{
		Subject: store.SubjectKind, Name: "send", At: sampleTime, Build: store.Build{Program: "v1.2.3"},
		Info: describe.Info{
			Owner: "mail team", Link: "https://wiki/mail", Description: "Sends one mail.\nOr two.", Deprecated: "use send-mails",
			Args: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}}}`), Example: json.RawMessage(`{"to":"ada"}`),
			Signals: []string{"stop"},
		},
	}
	whole, _ := WholeKindOf("send", []Kind{{Name: "send", Versions: []string{"2"}, Nodes: []string{"7"}, Unserved: []Unserved{}}}, told)
	removed := &store.Removed{Day: sampleTime.Truncate(24 * time.Hour), Queue: "mail", State: store.Failed, Jobs: 1<<40 + 1, Stubs: 7}
	return []sample{
		{value: NewSchedule(nightly, now), list: ScheduleHeader, row: func() []string { return ScheduleRow(now, nightly) }},
		{value: NewWholeSchedule(nightly, now, nextTimes, runs), print: func(p *output.Printer) {
			v := NewWholeSchedule(nightly, now, nextTimes, runs)
			PrintSchedule(p, now, nightly, &v, nextTimes, runs)
		}},
		{value: NewScheduleRun(&runs[0]), list: ScheduleRunHeader, row: func() []string { return ScheduleRunRow(now, nightly, &runs[0]) }},
		{value: NewScheduleRun(&runs[1])},
		{value: NewNextTime(nextTimes[0]), list: NextTimeHeader, row: func() []string { return NextTimeRow(now, nextTimes[0]) }},
		{value: PlannedBackfill("default", "nightly", 100_000, true, nextTimes)},
		{value: NewBackfill("default", "nightly", schedule.Backfilled{Number: 1<<60 + 1, Times: 3, Enqueued: 1, Skipped: 1})},
		{value: DeletedSchedule{Namespace: "default", Schedule: "nightly", Deleted: true}, list: []string{"-"}},
		{value: DeletedSchedule{Namespace: "default", Schedule: "nightly", Error: "no such schedule"}, list: []string{"-"}},
		{value: NewWholeJob(r, cause), print: func(p *output.Printer) { PrintJob(p, now, r, cause) }},
		{value: NewWhy(&reasons), print: func(p *output.Printer) { PrintWhy(p, now, &reasons) }},
		{value: NewJob(r), list: JobHeader, row: func() []string { return JobRow(now, r) }},
		{value: NewQueue(queue), list: QueueHeader, row: func() []string { return QueueRow(now, queue) }},
		{value: NewBatch(batch), list: BatchHeader, row: func() []string { return BatchRow(now, batch) }},
		{value: NewBatch(batch), print: func(p *output.Printer) { PrintBatch(p, now, batch) }},
		{value: NewBatch(&done), print: func(p *output.Printer) { PrintBatch(p, now, &done) }},
		{value: NewOperation(op), list: OperationHeader, row: func() []string { return OperationRow(now, op) }},
		{value: NewOperation(op), print: func(p *output.Printer) { PrintOperation(p, now, op) }},
		{value: NewNode(node, now), list: NodeHeader, row: func() []string { return NodeRow(now, node) }},
		{value: NewWholeQueue(queue, ofQueue, []store.Node{*node}, unserved, sampleTime), print: func(p *output.Printer) {
			v := NewWholeQueue(queue, ofQueue, []store.Node{*node}, unserved, sampleTime)
			PrintQueue(p, now, queue, ofQueue, &v, nil)
		}},
		{value: whole, print: func(p *output.Printer) { PrintKind(p, now, &whole.Kind, told) }},
		{value: NewDescriptor(told)},
		{value: ForgottenKind{Namespace: "default", Kind: "send", Forgotten: true}, list: []string{"-"}},
		{value: kind, list: KindHeader, row: func() []string { return KindRow(now, &kind) }},
		{value: Enqueued{ID: r.ID.String(), Existing: true}},
		{value: Enqueued{ID: r.ID.String(), Existing: true, Differs: true, Line: 7}, list: []string{"-"}},
		{value: Changed{ID: r.ID.String(), State: "cancelled"}, list: []string{"-"}},
		{value: Changed{ID: r.ID.String(), State: "completed", Error: "it has completed"}, list: []string{"-"}},
		{value: Paused{Namespace: "default", Queue: "mail", Paused: true, New: true}, list: []string{"-"}},
		{value: DeletedQueue{Namespace: "default", Queue: "mail", Deleted: true}, list: []string{"-"}},
		{value: DeletedQueue{Namespace: "default", Queue: "mail", Error: "it has unfinished jobs"}, list: []string{"-"}},
		{value: Forked{ID: r.ID.String(), ForkedFrom: r.ID.String()}},
		{value: Sent{ID: r.ID.String(), Signal: "approved", DedupKey: "mail-1", Message: 1<<60 + 1}},
		{value: Answered{Token: "hfc_x", Answer: "completed"}},
		{value: Item{Offset: 3, At: Timestamp(sampleTime), Value: json.RawMessage(`"approved"`)}},
		{value: NewPoint(point), list: PointHeader, row: func() []string { return PointRow(point) }},
		{value: NewPoint(&others), list: PointHeader, row: func() []string { return PointRow(&others) }},
		{value: NewSample(onNode), list: NodeSampleHeader, row: func() []string { return NodeSampleRow(onNode) }},
		{value: NewSample(ofDatabase), list: DatabaseSampleHeader, row: func() []string { return DatabaseSampleRow(ofDatabase) }},
		{value: NewRetention(class), list: RetentionHeader, row: func() []string { return RetentionRow(now, class) }},
		{value: DeletedRetention{Name: "audit", Deleted: true}},
		{value: NewRemoved(removed), list: RemovedHeader, row: func() []string { return RemovedRow(removed) }},
		{value: Schema{Database: "sqlite:holdfast.db", Version: 3, Latest: 7}},
		{value: Version{Version: "v1.2.3", Go: "go1.26", Platform: "linux/amd64"}},
	}
}

func sampleStats() (point *stats.Point, onNode, ofDatabase *stats.Sample) {
	took := stats.Latency{
		Count: 7, Mean: 1500 * time.Microsecond, P50: time.Millisecond, P90: 20 * time.Millisecond, P99: 1234567 * time.Microsecond,
		Max: time.Hour,
	}
	point = &stats.Point{
		At: sampleTime, Length: 90 * time.Second, Queue: "mail", Kind: "send", Started: 8, Completed: 1, Failed: 2, Retried: 3, Cancelled: 4,
		Parked: 5, Released: 6, Lost: 7, PerSecond: 0.23333, Wait: took, Run: took,
	}
	onNode = &stats.Sample{At: sampleTime, Node: 7, Name: "host[12]", Values: map[string]float64{
		stats.CPUShare: 1.256, stats.RSSBytes: 123_456_789, stats.Goroutines: 42, stats.Slots: 100, stats.SlotsUsed: 3,
		stats.BeatSeconds: 0.0012345,
	}}
	ofDatabase = &stats.Sample{At: sampleTime, Node: 7, Values: map[string]float64{
		stats.DatabaseBytes: 999, stats.WALWrittenBytes: 5e13, stats.Connections: 0, stats.ConnectionsMax: 97,
	}}
	return point, onNode, ofDatabase
}

func sampleOperation(id store.ID) *operation.Info {
	return &operation.Info{
		Operation: operation.Operation{
			ID: id, Action: operation.Move("slow"), Note: "because", Expected: 1200,
			Filter: store.Filter{Namespace: "default", Kinds: []string{"send"}, States: []store.State{store.Failed}},
		},
		Actor: "ann", State: store.Failed, Reason: store.ReasonTerminal, Error: "boom", CreatedAt: sampleTime, FinishedAt: sampleTime,
		Counts:   operation.Counts{Matched: 10, Changed: 6, Already: 2, Refused: 1, Gone: 1},
		Refusals: []operation.Refusal{{Job: id, Error: "it is running"}},
	}
}

// TestFormats compares every format of every view with what it was before: they are an interface.
func TestFormats(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, s := range samples() {
		for _, format := range output.Formats {
			var out bytes.Buffer
			p := output.NewPrinter(&out, false)
			p.Asked = format
			if err := write(&p, s); err != nil {
				t.Fatal(err)
			}
			if err := p.Flush(); err != nil {
				t.Fatal(err)
			}
			if text := out.String(); text != "" {
				fmt.Fprintf(&all, "### %T, %s\n%s", s.value, format, text)
			}
		}
	}
	path := filepath.Join("testdata", "formats.txt")
	if *update {
		if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("the output has changed; if it is meant, run: go test ./internal/cli/views -run TestFormats -update\n%s", diff)
	}
}

func write(p *output.Printer, s sample) error {
	if s.list == nil {
		return p.Object(s.value, func() {
			if s.print != nil {
				s.print(p)
			}
		})
	}
	l := p.NewList(s.list...)
	if s.row == nil && l.Format == output.FormatTable {
		return nil // it is printed by its verb
	}
	if err := l.Add(s.value, s.row); err != nil {
		return err
	}
	return l.End()
}
