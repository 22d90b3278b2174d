package figures

import (
	"math"
	"slices"
	"time"
)

// The figures that several scenarios have. Others have names of their own.
const (
	Rate        = "rate"                  // a second
	P50         = "p50_ms"                //
	P99         = "p99_ms"                //
	WAL         = "wal_bytes_per_job"     // PostgreSQL
	Commits     = "commits_per_job"       // transactions that wrote; PostgreSQL
	Dead        = "dead_tuples_per_job"   // PostgreSQL
	DatabaseCPU = "database_cpu_us"       // a job, of the server's processes
	ClientCPU   = "client_cpu_us"         // a job, of the client's
	Written     = "written_bytes_per_job" // by the client's process; SQLite
	Others      = "others_cpu_cores"      // what else the machine was doing meanwhile, in cores
)

// Sample is what one run of a scenario with one system gave.
type Sample struct {
	Jobs    int64              `json:"jobs"`
	Seconds float64            `json:"seconds"`
	Figures map[string]float64 `json:"figures"`
}

// Percentile returns the smallest duration that a share of them do not exceed. It sorts them.
func Percentile(durations []time.Duration, share float64) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	place := int(math.Ceil(share*float64(len(durations)))) - 1
	return durations[min(max(place, 0), len(durations)-1)]
}

// Milliseconds of a duration.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Latencies adds the percentiles of durations to figures.
func Latencies(figures map[string]float64, durations []time.Duration) {
	figures[P50] = Milliseconds(Percentile(durations, 0.50))
	figures[P99] = Milliseconds(Percentile(durations, 0.99))
}

// Median returns the middle of numbers, or the mean of the two in the middle; of none NaN.
func Median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(numbers))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
