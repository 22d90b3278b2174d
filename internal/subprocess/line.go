package subprocess

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// maxLine bounds a line of a process, and so the memory that it takes: a result of the largest size
// fits in, however it is escaped.
const maxLine = 8 << 20

// runLine tells a process to run a job.
type runLine struct {
	Type        string          `json:"type"` // run
	Run         string          `json:"run"`
	Job         string          `json:"job"`
	Kind        string          `json:"kind"`
	Queue       string          `json:"queue"`
	Namespace   string          `json:"namespace"`
	Attempt     int             `json:"attempt"`
	Lease       int64           `json:"lease"`
	EnqueuedAt  time.Time       `json:"enqueued_at"`
	Tags        []string        `json:"tags,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	TraceParent string          `json:"traceparent,omitempty"`
	TraceState  string          `json:"tracestate,omitempty"`
	Args        json.RawMessage `json:"args"`
}

// cancelLine tells a process that a run has to end.
type cancelLine struct {
	Type   string `json:"type"` // cancel
	Run    string `json:"run"`
	Reason string `json:"reason"` // timeout, heartbeat, cancelled, lease_lost, shutdown
	Text   string `json:"text"`   // for people
}

// encode is the line of a value.
func encode(v any) ([]byte, error) {
	line, err := json.Marshal(v)
	return append(line, '\n'), err
}

// message is what a process has said.
type message struct {
	run string
	is  any // *progress, *heartbeat, *logged, *result, *failure or *snooze
}

// head is what each line has.
type head struct {
	Type string `json:"type"`
	Run  string `json:"run"`
}

type (
	progress struct {
		head

		Percent float64 `json:"percent"`
		Message string  `json:"message"`
	}
	heartbeat struct{ head }
	logged    struct {
		head

		Level   string         `json:"level"`
		Message string         `json:"message"`
		Attrs   map[string]any `json:"attrs"`

		level slog.Level
	}
	result struct {
		head

		Result json.RawMessage `json:"result"`
	}
	failure struct {
		head

		Error      string `json:"error"`
		Permanent  bool   `json:"permanent"`
		RetryAfter string `json:"retry_after"`

		after time.Duration
	}
	snooze struct {
		head

		For string `json:"for"`

		wait time.Duration
	}
)

// ends reports whether the run has ended with a message.
func (m message) ends() bool {
	switch m.is.(type) {
	case *result, *failure, *snooze:
		return true
	}
	return false
}

var errNoRun = errors.New(`it has no "run", which is to be that of the line that it is about`)

// parse reads a line of a process. An unknown field is an error: a misspelt one would be lost.
func parse(line []byte) (message, error) {
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return message{}, fmt.Errorf("it is no JSON object: %w", err)
	}
	m := message{run: h.Run}
	switch h.Type {
	case "progress":
		m.is = &progress{}
	case "heartbeat":
		m.is = &heartbeat{}
	case "log":
		m.is = &logged{}
	case "result":
		m.is = &result{}
	case "error":
		m.is = &failure{}
	case "snooze":
		m.is = &snooze{}
	default:
		return message{}, fmt.Errorf("its type %q is none of progress, heartbeat, log, result, error and snooze", h.Type)
	}
	if h.Run == "" {
		return message{}, errNoRun
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m.is); err != nil {
		return message{}, err
	}
	return m, m.check()
}

var levels = map[string]slog.Level{
	"": slog.LevelInfo, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// check reads what is in texts.
func (m message) check() (err error) {
	switch is := m.is.(type) {
	case *logged:
		level, known := levels[is.Level]
		if !known {
			return fmt.Errorf("its level %q is none of debug, info, warn and error", is.Level)
		}
		is.level = level
	case *failure:
		if is.RetryAfter == "" {
			return nil
		}
		if is.Permanent {
			return errors.New("it is permanent, and has a retry_after")
		}
		is.after, err = duration("retry_after", is.RetryAfter)
	case *snooze:
		is.wait, err = duration("for", is.For)
	}
	return err
}

func duration(field, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf(`its %s %q is no duration, such as "30s"`, field, text)
	}
	return d, nil
}
