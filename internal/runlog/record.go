package runlog

import (
	"encoding/json"
	"log/slog"
	"time"
	"unicode/utf8"
)

// Record is a line as it is stored: a JSON object as slog's JSONHandler writes it, with the
// attributes of the line apart.
type Record struct {
	Time    time.Time       `json:"time"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"msg"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
	Cut     int             `json:"cut,omitempty"` // how many bytes the line had, if it was too long
}

// attrsKey is the group in which the attributes of a line are.
const attrsKey = "attrs"

// MaxLine bounds a line, in bytes. Of a longer one the message is kept, as far as it fits, and the
// attributes if they fit with it.
const MaxLine = 16 << 10

// cut makes a line fit that is too long, with a mark that says how long it was.
func cut(line []byte) []byte {
	var r Record
	if json.Unmarshal(line, &r) != nil {
		r.Time, r.Message = time.Time{}, "a line that cannot be read"
	}
	r.Cut = len(line)
	if len(r.Message) > MaxLine/8 {
		end := MaxLine / 8
		for end > 0 && !utf8.RuneStart(r.Message[end]) {
			end--
		}
		r.Message = r.Message[:end]
	}
	if len(r.Attrs) > MaxLine/8 {
		r.Attrs = nil
	}
	short, err := json.Marshal(r)
	if err != nil {
		return []byte("{}\n")
	}
	return append(short, '\n')
}
