package gauges

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// What is measured of a process, and of the node in it.
const (
	CPUSeconds     = "cpu_seconds"      // of processors that the process has used; it grows
	CPUShare       = "cpu_share"        // of one processor, since the last measurement: 2 is two of them
	CPUs           = "cpus"             // that the process may use
	RSSBytes       = "rss_bytes"        // of memory that the process has in use
	MemoryBytes    = "memory_bytes"     // that the Go runtime has from the system
	HeapBytes      = "heap_bytes"       // of objects, those that are garbage by now included
	Goroutines     = "goroutines"       // how many there are
	GCPauseSeconds = "gc_pause_seconds" // for which all stood still for the garbage collector; it grows
	Slots          = "slots"            // of the node
	SlotsUsed      = "slots_used"       // those with a run
	BeatSeconds    = "beat_seconds"     // of the last heartbeat, to the database and back
)

// Process measures the process that it is in. Its method may be called by many goroutines.
type Process struct {
	mu  sync.Mutex
	at  time.Time
	cpu time.Duration
}

const (
	goroutinesMetric = "/sched/goroutines:goroutines"
	heapMetric       = "/memory/classes/heap/objects:bytes"
	memoryMetric     = "/memory/classes/total:bytes"
)

// Measure measures it. That takes a few ten microseconds.
func (p *Process) Measure() map[string]float64 {
	values := map[string]float64{CPUs: float64(runtime.GOMAXPROCS(0))}
	samples := []metrics.Sample{{Name: goroutinesMetric}, {Name: heapMetric}, {Name: memoryMetric}}
	metrics.Read(samples)
	for i, name := range []string{Goroutines, HeapBytes, MemoryBytes} {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			values[name] = float64(samples[i].Value.Uint64())
		}
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	values[GCPauseSeconds] = gc.PauseTotal.Seconds()
	if rss, known := residentBytes(); known {
		values[RSSBytes] = float64(rss)
	}
	if cpu, known := cpuTime(); known {
		values[CPUSeconds] = cpu.Seconds()
		if share, known := p.share(cpu); known {
			values[CPUShare] = share
		}
	}
	return values
}

// share is what was used of a processor since the last call.
func (p *Process) share(cpu time.Duration) (share float64, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if took := now.Sub(p.at); !p.at.IsZero() && took > 0 {
		share, known = (cpu-p.cpu).Seconds()/took.Seconds(), true
	}
	p.at, p.cpu = now, cpu
	return share, known
}
