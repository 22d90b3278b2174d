package events

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// frame is what a reader is told at once.
type frame struct {
	event string
	id    string        // where to go on after it; "": as before
	data  any           // nil: only id is told
	retry time.Duration // when to come back if the connection ends; 0: as before
}

// format says how frames and heartbeats are written.
type format struct {
	media string
	frame func(*bytes.Buffer, *frame) error
	beat  func(*bytes.Buffer)
}

// sse are Server-Sent Events. A frame without data only moves the id on.
var sse = format{
	media: "text/event-stream",
	frame: func(b *bytes.Buffer, f *frame) error {
		if f.retry > 0 {
			b.WriteString("retry: " + strconv.FormatInt(f.retry.Milliseconds(), 10) + "\n")
		}
		if f.id != "" {
			b.WriteString("id: " + f.id + "\n")
		}
		if f.data != nil {
			b.WriteString("event: " + f.event + "\ndata: ")
			if err := writeJSON(b, f.data); err != nil { // ends with a line break, and has no other
				return err
			}
		}
		b.WriteByte('\n')
		return nil
	},
	beat: func(b *bytes.Buffer) { b.WriteString(":\n\n") },
}

// ndjson are lines of JSON.
var ndjson = format{
	media: "application/x-ndjson",
	frame: func(b *bytes.Buffer, f *frame) error {
		line := line{Event: f.event, ID: f.id, Data: f.data}
		if f.data == nil {
			line.Event = "position"
		}
		return writeJSON(b, line)
	},
	beat: func(b *bytes.Buffer) { b.WriteString(`{"event":"heartbeat"}` + "\n") },
}

// line is a frame as a line of JSON.
type line struct {
	Event string `json:"event"`
	ID    string `json:"id,omitempty"`
	Data  any    `json:"data,omitempty"`
}

func writeJSON(b *bytes.Buffer, v any) error {
	if data, is := v.(json.RawMessage); is { // it is as an encoder has made it
		b.Write(data)
		b.WriteByte('\n')
		return nil
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// accepted is the format that the header Accept of a request asks for: the first one in it that
// there is.
func accepted(header []string) (format, bool) {
	if len(header) == 0 {
		return sse, true
	}
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		name, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "application/x-ndjson", "application/ndjson":
			return ndjson, true
		case "text/event-stream", "text/*", "*/*":
			return sse, true
		}
	}
	return format{}, false
}
