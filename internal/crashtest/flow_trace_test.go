package crashtest

import "github.com/holdfastdev/holdfast"

// The events of a flow's run, besides eventStart and eventEffect.
const (
	eventRemembered = "remembered" // a step returned: it is in the journal
	eventLeave      = "leave"      // the handler's goroutine ends, whatever may be left to write
	eventSays       = "says"       // it says where it is, in its metadata and tags
	eventKept       = "kept"       // an errand has stored what it said, with a checkpoint
)

// The events of an operator. Between them what is asked for happens, or not.
const (
	eventAsk    = "ask"
	eventAnswer = "answer"
)

// trace is one record of the file of TestFlows.
type trace struct {
	Event string      `json:"event"`
	Job   holdfast.ID `json:"job"`

	// Of a run.
	N       int    `json:"n,omitempty"`
	Gen     int    `json:"gen,omitempty"`
	Lease   int64  `json:"lease,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Node    int64  `json:"node,omitempty"`
	By      string `json:"by,omitempty"`    // the process
	Step    string `json:"step,omitempty"`  // empty for what an errand is there for
	Value   string `json:"value,omitempty"` // its result

	// Ask is the number of what an operator asks for.
	Ask int `json:"ask,omitempty"`
}
