package views

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/stats"
)

// Point is what happened to runs in a step of time.
type Point struct {
	At        Timestamp `json:"at"`
	Seconds   float64   `json:"seconds"` // how long it is
	Queue     Text      `json:"queue"`
	Kind      Text      `json:"kind"`
	Other     bool      `json:"other"` // those that were too many to be told apart
	Started   int64     `json:"started"`
	Completed int64     `json:"completed"`
	Failed    int64     `json:"failed"`
	Retried   int64     `json:"retried"`
	Cancelled int64     `json:"cancelled"`
	Parked    int64     `json:"parked"`
	Released  int64     `json:"released"`
	Lost      int64     `json:"lost"`
	PerSecond float64   `json:"per_second"`
	Wait      *latency  `json:"wait"` // null: not known of any run
	Run       *latency  `json:"run"`
}

// latency is how long something took.
type latency struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_seconds"`
	P50   float64 `json:"p50_seconds"`
	P90   float64 `json:"p90_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
}

// NewPoint returns the view of a point.
func NewPoint(p *stats.Point) Point {
	return Point{
		At: Timestamp(p.At), Seconds: p.Length.Seconds(), Queue: Text(p.Queue), Kind: Text(p.Kind), Other: p.Other,
		Started: p.Started, Completed: p.Completed, Failed: p.Failed, Retried: p.Retried, Cancelled: p.Cancelled, Parked: p.Parked,
		Released: p.Released, Lost: p.Lost, PerSecond: p.PerSecond, Wait: newLatency(&p.Wait), Run: newLatency(&p.Run),
	}
}

func newLatency(l *stats.Latency) *latency {
	if l.Count == 0 {
		return nil
	}
	return &latency{
		Count: l.Count, Mean: l.Mean.Seconds(), P50: l.P50.Seconds(), P90: l.P90.Seconds(), P99: l.P99.Seconds(), Max: l.Max.Seconds(),
	}
}

// PointHeader is the header of a table of points.
var PointHeader = []string{
	"AT", "QUEUE", "KIND", "STARTED", "COMPLETED", "FAILED", "RETRIED", "LOST", "PER SECOND", "WAIT P50", "WAIT P99", "RUN P50", "RUN P99",
}

// PointRow formats a point for a table.
func PointRow(p *stats.Point) []string {
	queue, kind := output.Clip(p.Queue, output.MaxName), output.Clip(p.Kind, output.MaxName)
	if p.Other {
		queue, kind = "(others)", ""
	}
	row := []string{minuteOf(p.At), queue, kind}
	for _, n := range []int64{p.Started, p.Completed, p.Failed, p.Retried, p.Lost} {
		row = append(row, strconv.FormatInt(n, 10))
	}
	return append(row, perSecond(p.PerSecond),
		brief(&p.Wait, p.Wait.P50), brief(&p.Wait, p.Wait.P99), brief(&p.Run, p.Run.P50), brief(&p.Run, p.Run.P99))
}

// perSecond is a rate of which three digits count, or all before the point.
func perSecond(rate float64) string {
	if rate >= 100 {
		return strconv.FormatFloat(rate, 'f', 0, 64) // not 1.23e+03
	}
	return strconv.FormatFloat(rate, 'g', 3, 64)
}

// minuteOf is a time of which only the minute counts.
func minuteOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04Z") }

// brief is a duration of which two or three digits count; "" if it is not known.
func brief(l *stats.Latency, d time.Duration) string {
	if l.Count == 0 {
		return ""
	}
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return d.String()
}

// Sample is what was measured at some time.
type Sample struct {
	At     Timestamp          `json:"at"`
	Node   Big                `json:"node"`
	Name   Text               `json:"name"`
	Values map[string]float64 `json:"values"`
}

// NewSample returns the view of a sample.
func NewSample(s *stats.Sample) Sample {
	values := map[string]float64{} // not null
	maps.Copy(values, s.Values)
	return Sample{At: Timestamp(s.At), Node: Big(s.Node), Name: Text(s.Name), Values: values}
}

// NodeSampleHeader is the header of a table of what nodes have measured.
var NodeSampleHeader = []string{"AT", "NODE", "NAME", "SLOTS", "CPU", "RSS", "HEAP", "GOROUTINES", "BEAT"}

// NodeSampleRow formats what a node has measured for a table.
func NodeSampleRow(s *stats.Sample) []string {
	slots := ""
	if all, known := s.Values[stats.Slots]; known {
		slots = fmt.Sprintf("%.0f/%.0f", s.Values[stats.SlotsUsed], all)
	}
	beat := ""
	if seconds, known := s.Values[stats.BeatSeconds]; known {
		beat = time.Duration(seconds * float64(time.Second)).Round(10 * time.Microsecond).String()
	}
	return []string{
		minuteOf(s.At), strconv.FormatInt(s.Node, 10), output.Clip(s.Name, output.MaxName), slots, value(s, stats.CPUShare, "%.2f"),
		size(s, stats.RSSBytes), size(s, stats.HeapBytes), value(s, stats.Goroutines, "%.0f"), beat,
	}
}

// DatabaseSampleHeader is the header of a table of what was measured of a database.
var DatabaseSampleHeader = []string{"AT", "SIZE", "FREE", "WAL", "WAL WRITTEN", "DISK LEFT", "CONNECTIONS"}

// DatabaseSampleRow formats what was measured of a database for a table.
func DatabaseSampleRow(s *stats.Sample) []string {
	connections := value(s, stats.Connections, "%.0f")
	if most, known := s.Values[stats.ConnectionsMax]; known {
		connections += fmt.Sprintf("/%.0f", most)
	}
	return []string{
		minuteOf(s.At), size(s, stats.DatabaseBytes), size(s, stats.FreeBytes), size(s, stats.WALBytes), size(s, stats.WALWrittenBytes),
		size(s, stats.DiskFreeBytes), connections,
	}
}

// value is one of a sample; "" if it is not known.
func value(s *stats.Sample, name, format string) string {
	v, known := s.Values[name]
	if !known {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// size is one of a sample that is a number of bytes.
func size(s *stats.Sample, name string) string {
	v, known := s.Values[name]
	if !known {
		return ""
	}
	units := []string{"B", "kB", "MB", "GB", "TB"}
	unit := 0
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%.0f B", v)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}
