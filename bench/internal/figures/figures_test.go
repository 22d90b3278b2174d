package figures_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		numbers []float64
		want    float64
	}{
		{[]float64{3}, 3},
		{[]float64{5, 1, 3}, 3},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := figures.Median(test.numbers); got != test.want {
			t.Errorf("median of %v: %v, want %v", test.numbers, got, test.want)
		}
	}
	if got := figures.Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

func TestPercentile(t *testing.T) {
	durations := make([]time.Duration, 200)
	for i := range durations {
		durations[len(durations)-1-i] = time.Duration(i+1) * time.Millisecond
	}
	for _, test := range []struct {
		share float64
		want  time.Duration
	}{
		{0, time.Millisecond}, {0.5, 100 * time.Millisecond}, {0.99, 198 * time.Millisecond}, {1, 200 * time.Millisecond},
	} {
		if got := figures.Percentile(durations, test.share); got != test.want {
			t.Errorf("percentile %v: %v, want %v", test.share, got, test.want)
		}
	}
	if got := figures.Percentile(durations[:1], 0.99); got != time.Millisecond {
		t.Errorf("percentile of one: %v", got)
	}
	if got := figures.Percentile(nil, 0.99); got != 0 {
		t.Errorf("percentile of nothing: %v", got)
	}
}

var rates = figures.Measure{Figure: figures.Rate, Unit: "jobs/s"}

func row(name, figure string, values ...float64) figures.Row {
	r := figures.Row{System: name}
	for _, v := range values {
		r.Samples = append(r.Samples, figures.Sample{Figures: map[string]float64{figure: v}})
	}
	return r
}

// TestRatio compares within rounds: the machine was slow in the second one.
func TestRatio(t *testing.T) {
	ours, theirs := row("ours", figures.Rate, 400, 90, 420), row("theirs", figures.Rate, 100, 30, 100)
	if got, ok := figures.Ratio(rates, ours, theirs); !ok || got != 4 {
		t.Errorf("ratio of rates: %v, %v", got, ok)
	}
	latency := figures.Measure{Figure: figures.P99, Unit: "p99 ms", Less: true}
	if got, ok := figures.Ratio(latency, row("ours", figures.P99, 2), row("theirs", figures.P99, 10)); !ok || got != 5 {
		t.Errorf("ratio of latencies: %v, %v", got, ok)
	}
	if _, ok := figures.Ratio(rates, ours, row("theirs", figures.P99, 1)); ok {
		t.Error("a ratio with a system that has no such figure")
	}
	if _, ok := figures.Ratio(rates, ours, row("theirs", figures.Rate, 0)); ok {
		t.Error("a ratio with nothing")
	}
}

func TestTable(t *testing.T) {
	ours := row("holdfast", figures.Rate, 1000, 1500.4, 1200)
	ours.Samples[1].Figures[figures.WAL] = 400
	ours.Samples[1].Figures["rate_small"] = 12.345
	var b strings.Builder
	if err := figures.WriteTable(&b, "drain", rates, []figures.Row{ours, row("river", figures.Rate, 500, 500, 400)}); err != nil {
		t.Fatal(err)
	}
	const want = `### drain

| system   | jobs/s | lowest – highest | ours is better by | WAL B/job |
|----------|--------|------------------|-------------------|-----------|
| holdfast | 1200   | 1000 – 1500      |                   | 400       |
| river    | 500    | 400 – 500        | ×3                | –         |

holdfast: rate_small 12.3

`
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLines(t *testing.T) {
	ours, theirs := row("holdfast", figures.Rate, 400, 500), row("river", figures.Rate, 100, 100)
	var b strings.Builder
	err := figures.WriteLine(&b, figures.Record{
		Schema: figures.SchemaVersion, Scenario: "drain", Store: "sqlite", System: "holdfast", Round: 1, Measure: rates,
		Versions: map[string]string{"go": "go1"}, Settings: map[string]string{"synchronous": "FULL"}, Sample: ours.Samples[0],
	})
	if err == nil {
		err = figures.WriteLine(&b, figures.Summarize("drain", "sqlite", rates, theirs, &ours))
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), b.String())
	}
	var record struct {
		Schema   int                `json:"schema"`
		Figures  map[string]float64 `json:"figures"`
		Settings map[string]string  `json:"settings"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &record); err != nil {
		t.Fatal(err)
	}
	if record.Schema != 1 || record.Figures["rate"] != 400 || record.Settings["synchronous"] != "FULL" {
		t.Errorf("the record is %s", lines[0])
	}
	const summary = `{"schema":1,"scenario":"drain","store":"sqlite","system":"river","rounds":2,` +
		`"measure":{"figure":"rate","unit":"jobs/s","less_is_better":false},` +
		`"spreads":{"rate":{"median":100,"low":100,"high":100}},"ours_is_better_by":4.5}`
	if lines[1] != summary {
		t.Errorf("the summary is\n%s\nwant\n%s", lines[1], summary)
	}
}

func TestFormat(t *testing.T) {
	for number, want := range map[float64]string{
		12345.6: "12346", 99.96: "100.0", 12.34: "12.3", 1.234: "1.23", 0.01234: "0.012", 0: "0", 40: "40", math.NaN(): "–",
	} {
		if got := figures.Format(number); got != want {
			t.Errorf("%v: %s, want %s", number, got, want)
		}
	}
}
