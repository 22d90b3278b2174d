package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// The events of a run.
const (
	eventStart      = "start"
	eventCheckpoint = "checkpoint"
	eventRefused    = "refused"
	eventEffect     = "effect"
)

// effect is one record of the file.
type effect struct {
	Event   string      `json:"event"`
	Job     holdfast.ID `json:"job"`
	N       int         `json:"n"` // the job's place in the plan
	Lease   int64       `json:"lease"`
	Attempt int         `json:"attempt"`
	Node    int64       `json:"node"`
	By      string      `json:"by"` // the process
	Stage   int         `json:"stage"`
}

// recordSize divides the size of a page, so that no record crosses a page boundary: a write of
// several pages may be cut short by a kill.
const recordSize = 512

// appendRecord writes a record. The file was opened with O_APPEND.
func appendRecord(file *os.File, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(data) >= recordSize {
		return fmt.Errorf("a record of %d bytes is too long", len(data))
	}
	record := bytes.Repeat([]byte{' '}, recordSize)
	copy(record, data)
	record[recordSize-1] = '\n'
	_, err = file.Write(record)
	return err
}

// readRecords reads the records from the given one on.
func readRecords[T any](t *testing.T, name string, from int) []T {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.NewSectionReader(file, int64(from)*recordSize, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	if len(data)%recordSize != 0 {
		t.Fatalf("%s ends with a part of a record: %d bytes", name, len(data)%recordSize)
	}
	records := make([]T, len(data)/recordSize)
	for i := range records {
		record := data[i*recordSize : (i+1)*recordSize]
		if err := json.Unmarshal(record, &records[i]); err != nil {
			t.Fatalf("record %d: %v: %q", from+i, err, record)
		}
	}
	return records
}

// countRecords is how many records there are.
func countRecords(t *testing.T, name string) int {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Size() / recordSize)
}
