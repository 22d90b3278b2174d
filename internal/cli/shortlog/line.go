package shortlog

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
)

// facts are the attributes of a log line.
type facts []slog.Attr

func factsOf(r slog.Record) facts {
	f := make(facts, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		f = append(f, a)
		return true
	})
	return f
}

// get returns an attribute as text, "" if it is missing.
func (f facts) get(key string) string {
	for _, a := range f {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// error is the beginning of the error.
func (f facts) error() string { return output.Clip(f.get("error"), shortText) }

// took is how long a run took.
func (f facts) took() string { return f.duration("took") }

// after says how long the run took; nothing if its handler was not called: its job is held.
func (f facts) after() string {
	if took := f.took(); took != unknown {
		return " after " + took
	}
	return ""
}

// unknown is in the place of a duration that is not known.
const unknown = "?"

func (f facts) duration(key string) string {
	for _, a := range f {
		if a.Key == key && a.Value.Kind() == slog.KindDuration {
			return brief(a.Value.Duration())
		}
	}
	return unknown
}

// again formats when a job or a step is retried, such as ", again in 2s".
func (f facts) again(now time.Time) string {
	for _, a := range f {
		if a.Key == "retry_at" && a.Value.Kind() == slog.KindTime {
			return ", again in " + brief(a.Value.Time().Sub(now))
		}
	}
	return ""
}

// attempt formats the number of the attempt unless it is the first.
func (f facts) attempt() string {
	if n := f.get("attempt"); n != "" && n != "1" {
		return ", attempt " + n
	}
	return ""
}

// end describes how a run has ended that did not fail.
func (f facts) end(now time.Time) string {
	switch state := f.get("state"); state {
	case "completed":
		return "done in " + f.took() + f.attempt()
	case "scheduled":
		return "snoozed" + f.again(now)
	case "waiting":
		return "waits, parked" + f.after()
	case "available":
		return "given back" + f.after()
	case "cancelled":
		return "cancelled" + f.after() + colon(f.error())
	default:
		return state
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// brief formats a duration briefly: 12ms, 2.3s, 41s, 5m.
func brief(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Millisecond:
		return "<1ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 9950*time.Millisecond:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + "s"
	}
	return output.Rough(d)
}

// line formats a line about a job.
func (f facts) line(at time.Time, text string) string {
	parts := []string{at.Format(time.TimeOnly)}
	for _, key := range []string{"job", "kind"} {
		if v := f.get(key); v != "" {
			parts = append(parts, output.Clip(v, 80))
		}
	}
	return strings.Join(append(parts, text), "  ")
}

// shortLine formats a record, with the stack of a panic below it.
func shortLine(r slog.Record) string {
	f := factsOf(r)
	return f.line(r.Time, f.words(r)) + indented(f.get("stack"))
}

// words returns the text of a line.
func (f facts) words(r slog.Record) string {
	switch r.Message {
	case LineStarted:
		return "started" + f.attempt()
	case LineEnded:
		return f.end(r.Time)
	case LineAttempt:
		return "failed" + f.attempt() + f.again(r.Time) + colon(f.error())
	case linePanicked, linePanickedOut:
		return "panicked" + f.attempt() + f.again(r.Time) + colon(strings.TrimPrefix(f.error(), "panic: "))
	case LineFailed:
		return "failed for good" + f.attempt() + colon(f.error())
	case lineHeld:
		return "held for a person" + colon(f.error())
	case lineStep:
		return fmt.Sprintf("step %s failed%s%s", output.Clip(f.get("step"), 80), f.again(r.Time), colon(f.error()))
	case lineLeftOut:
		return fmt.Sprintf("%s more lines: %s", f.get("lines"), f.get("cause"))
	case lineUnserved:
		return fmt.Sprintf("waits in queue %s: %s", output.Clip(f.get("queue"), 80), f.get("cause"))
	case LineNodeStarted, lineNodeStopped:
		return r.Message
	}
	text := r.Message
	if r.Level >= slog.LevelWarn {
		text = r.Level.String() + " " + text
	}
	for _, a := range f {
		switch a.Key {
		case "job", "kind", "node", "stack":
		default:
			text += " " + a.Key + "=" + word(a.Value)
		}
	}
	return text
}

// word formats a value of a line that is not reworded.
func word(v slog.Value) string {
	text := v.String()
	switch v.Kind() {
	case slog.KindTime:
		text = v.Time().Format(time.RFC3339)
	case slog.KindDuration:
		text = brief(v.Duration())
	default:
	}
	if text = output.Clip(text, shortText); text == "" || strings.ContainsAny(text, " =\"") {
		return strconv.Quote(text)
	}
	return text
}

// indented indents a text of several lines below a line.
func indented(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		tabs := len(line) - len(strings.TrimLeft(line, "\t"))
		b.WriteString("\n    " + strings.Repeat("  ", tabs) + output.OneLine(line))
	}
	return b.String()
}
