package stats

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/gauges"
	"github.com/holdfastdev/holdfast/store"
)

// What nodes measure of their processes and of themselves. What a system does not tell is not among
// the values of a Sample.
const (
	CPUSeconds     = gauges.CPUSeconds     // of processors that the process has used; it grows
	CPUShare       = gauges.CPUShare       // of one processor, since the last beat or so: 2 is two of them
	CPUs           = gauges.CPUs           // processors that the process may use
	RSSBytes       = gauges.RSSBytes       // memory that the process has in use (Linux)
	MemoryBytes    = gauges.MemoryBytes    // memory that the Go runtime has from the system
	HeapBytes      = gauges.HeapBytes      // memory of objects, garbage included
	Goroutines     = gauges.Goroutines     // how many there are
	GCPauseSeconds = gauges.GCPauseSeconds // for which all stood still for the garbage collector; it grows
	Slots          = gauges.Slots          // slots of the node
	SlotsUsed      = gauges.SlotsUsed      // those with a run
	BeatSeconds    = gauges.BeatSeconds    // how long the last heartbeat took, to the database and back
)

// What the leader measures of the database. What such a database does not have, and what the role
// must not see, is not among the values of a Sample.
const (
	DatabaseBytes   = gauges.DatabaseBytes   // size of the file, or of the database on the server
	FreeBytes       = gauges.FreeBytes       // of the file, what is empty and will be used again (SQLite)
	WALBytes        = gauges.WALBytes        // size of the write-ahead log (SQLite)
	WALWrittenBytes = gauges.WALWrittenBytes // ever written to the write-ahead log of the server; it grows (PostgreSQL)
	DiskFreeBytes   = gauges.DiskFreeBytes   // left on the disk of the file (SQLite, on Linux)
	Connections     = gauges.Connections     // that clients have to the server (PostgreSQL)
	ConnectionsMax  = gauges.ConnectionsMax  // that they may have (PostgreSQL)
)

// Sample is what was measured at some time.
type Sample struct {
	At   time.Time // the step in which it was measured last
	Node int64     // that has measured; 0: it is not known any more
	Name string    // of the node; "" of a Sample of the database
	// Values are what was measured, by the names above.
	Values map[string]float64
}

// Nodes returns what the nodes of the client's namespace have measured, the last of each step and
// node, by time. Without a step it is the last of each node in the window.
func Nodes(ctx context.Context, client *holdfast.Client, w Window) ([]Sample, error) {
	return samples(ctx, client, client.Namespace(), w)
}

// Database returns what was measured of the database, the last of each step, by time. Without a
// step it is the last in the window.
func Database(ctx context.Context, client *holdfast.Client, w Window) ([]Sample, error) {
	return samples(ctx, client, "", w)
}

func samples(ctx context.Context, client *holdfast.Client, namespace string, w Window) ([]Sample, error) {
	e, _ := access.Engine(client)
	now := e.Store.Now()
	if err := w.fill(now); err != nil {
		return nil, err
	}
	type place struct{ at, node int64 }
	places := map[place]int{}
	var all []Sample
	err := w.read(ctx, e.Store, namespace, now, func(f *store.Fact) error {
		if f.Gauges == nil {
			return nil
		}
		s, err := gauges.Decode(f.Gauges)
		if err != nil {
			return fmt.Errorf("%w: what was measured at %s: %w; use a newer program", holdfast.ErrSchema, f.At.Format(time.RFC3339), err)
		}
		p := place{at: w.at(f.At).Unix()}
		if namespace != "" {
			p.node = f.Node
		}
		i, there := places[p]
		if !there {
			if len(all) == MaxPoints {
				return fmt.Errorf("%w: there are more than %d samples; use a longer step, or a shorter window", holdfast.ErrInvalid, MaxPoints)
			}
			i = len(all)
			places[p], all = i, append(all, Sample{})
		}
		at := w.at(f.At)
		if w.Step == 0 {
			at = f.At.UTC()
		}
		all[i] = Sample{At: at, Node: f.Node, Name: s.Name, Values: s.Values}
		return nil
	})
	return all, err
}
