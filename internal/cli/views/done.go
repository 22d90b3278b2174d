package views

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/store"
)

// Enqueued is the result of one enqueue.
type Enqueued struct {
	ID       string `json:"id"`
	Existing bool   `json:"existing"`
	Replaced bool   `json:"replaced"`
	Differs  bool   `json:"differs"` // the job that holds the key was enqueued with other args
	Line     Number `json:"line"`    // of the file, with --file
}

// Changed is the result for one job that was to be cancelled, retried or deleted, or changed
// otherwise.
type Changed struct {
	ID    string `json:"id"`
	State Text   `json:"state"`
	Error Text   `json:"error"`
}

// Paused is a queue that was paused or resumed.
type Paused struct {
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	Paused    bool   `json:"paused"`
	New       bool   `json:"new"` // the queue did not exist before
}

// Rested is a queue that was let rest.
type Rested struct {
	Namespace string    `json:"namespace"`
	Queue     string    `json:"queue"`
	Until     Timestamp `json:"until"`
}

// NewRested returns the view of a queue that rests until a time.
func NewRested(namespace, queue string, until time.Time) Rested {
	return Rested{Namespace: namespace, Queue: queue, Until: Timestamp(until)}
}

// AskedNode is a node that was asked to be quiet, to drain or to resume.
type AskedNode struct {
	Node  Big    `json:"node"`
	Mode  string `json:"mode"`
	Error Text   `json:"error"`
}

// Maintained is what a maintenance has done.
type Maintained struct {
	Node      Big  `json:"node"` // as which it was done
	Led       bool `json:"led"`
	Died      int  `json:"died"` // nodes
	Rescued   int  `json:"rescued"`
	Promoted  int  `json:"promoted"`
	Fired     int  `json:"fired"`
	Cancelled int  `json:"cancelled"`
	Closed    int  `json:"closed"`
	Called    int  `json:"called"`
	Removed   int  `json:"removed"`
	Doubtful  int  `json:"doubtful_nodes"`
	More      bool `json:"more"`
}

// NewMaintained makes the view of a report.
func NewMaintained(r maintain.Report) Maintained {
	return Maintained{
		Node: Big(r.Node), Led: r.Led, Died: int(r.Died), Rescued: int(r.Rescued), Promoted: int(r.Promoted), Fired: int(r.Fired),
		Cancelled: int(r.Cancelled), Closed: int(r.Closed), Called: int(r.Called), Removed: int(r.Removed), Doubtful: r.Doubtful, More: r.More,
	}
}

// DeletedQueue is a queue that was to be deleted.
type DeletedQueue struct {
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`
	Deleted   bool   `json:"deleted"`
	Error     Text   `json:"error"`
}

// Forked is a new job and the one whose journal it starts with.
type Forked struct {
	ID         string `json:"id"`
	ForkedFrom string `json:"forked_from"`
}

// Sent is a delivered signal.
type Sent struct {
	ID        string `json:"id"` // of the job
	Signal    string `json:"signal"`
	DedupKey  Text   `json:"dedup_key"`
	Message   Big    `json:"message"`
	Duplicate bool   `json:"duplicate"`
}

// Answered is a completed callback.
type Answered struct {
	Token  string `json:"token"`
	Answer string `json:"answer"`
}

// Schema is the schema version of a database.
type Schema struct {
	Database string `json:"database"`
	Version  int    `json:"version"`
	Latest   int    `json:"latest"`
	Current  bool   `json:"current"`
	Served   bool   `json:"served"`
}

// NewSchema returns the view of a schema.
func NewSchema(source store.Source, s store.Schema) Schema {
	return Schema{Database: source.String(), Version: s.Version, Latest: s.Latest, Current: s.Version == s.Latest, Served: s.IsServed()}
}

// Bench is a measurement.
type Bench struct {
	Scenario  string   `json:"scenario"`
	Jobs      int      `json:"jobs"`
	Seconds   float64  `json:"seconds"`
	PerSecond float64  `json:"per_second"`
	P50       *float64 `json:"p50_ms"` // of latencies
	P99       *float64 `json:"p99_ms"`
}

// Row formats a measurement for a table.
func (v Bench) Row() []string {
	ms := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'f', 2, 64) + " ms"
	}
	return []string{
		v.Scenario, strconv.Itoa(v.Jobs), strconv.FormatFloat(v.Seconds, 'f', 2, 64), strconv.FormatFloat(v.PerSecond, 'f', 0, 64),
		ms(v.P50), ms(v.P99),
	}
}

// Version is the version of the program.
type Version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}
