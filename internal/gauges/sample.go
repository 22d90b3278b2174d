package gauges

import (
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Sample is what was measured at some time.
type Sample struct {
	Name   string             `json:"n,omitempty"` // of the node
	Values map[string]float64 `json:"v"`
}

// Encode returns a sample as JSON.
func (s *Sample) Encode() []byte {
	b, err := json.Marshal(s)
	if err != nil { // a value that is no number
		return nil
	}
	return b
}

// Decode returns the sample that was encoded.
func Decode(b []byte) (s Sample, err error) {
	if err := json.Unmarshal(b, &s); err != nil {
		return Sample{}, fmt.Errorf("these are no measurements that this program can read: %w", err)
	}
	return s, nil
}

// What is measured of a database.
const (
	DatabaseBytes   = "database_bytes"
	FreeBytes       = "free_bytes"
	WALBytes        = "wal_bytes"
	WALWrittenBytes = "wal_written_bytes"
	DiskFreeBytes   = "disk_free_bytes"
	Connections     = "connections"
	ConnectionsMax  = "connections_max"
)

// Database is what a store has measured.
func Database(m *store.Measured) Sample {
	s := Sample{Values: map[string]float64{}}
	for name, n := range map[string]*int64{
		DatabaseBytes: m.Size, FreeBytes: m.Free, WALBytes: m.Log, WALWrittenBytes: m.Written, DiskFreeBytes: m.DiskLeft,
		Connections: m.Connections, ConnectionsMax: m.MaxConnections,
	} {
		if n != nil {
			s.Values[name] = float64(*n)
		}
	}
	return s
}
