package cron

import (
	"strconv"
	"strings"
	"time"
)

func (e *expression) text() string {
	text := "cron " + e.String() + " zone=" + e.clock.zone.String()
	if e.skip {
		text += " dst=" + Skip.String()
	}
	if e.seed != "" {
		text += " seed=" + strconv.Quote(e.seed)
	}
	return text
}

func (e *every) text() string {
	text := "every " + e.interval.String()
	if e.anchor.UnixMicro() != 0 {
		text += " anchor=" + stored(e.anchor)
	}
	return text + " zone=" + e.zone.String()
}

func (o *once) text() string { return "at " + stored(o.at) + " zone=" + o.at.Location().String() }

func stored(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Parse reads what String wrote, which is one of
//
//	cron 30 9 * * 1-5 zone=Europe/Berlin
//	cron H 2 * * * zone=UTC dst=skip seed="the schedule's name"
//	every 1h30m0s zone=UTC
//	every 24h0m0s anchor=2026-03-01T08:00:00Z zone=Europe/Berlin
//	at 2026-03-01T08:00:00.25Z zone=Europe/Berlin
//
// An expression is written with numbers for names, without a second of 0, and with H as it is.
// There is dst only to skip, seed only with H, and an anchor only if it is not 1970. Two Specs of
// the same text have the same times.
func Parse(text string) (Spec, error) {
	kind, rest, _ := strings.Cut(text, " ")
	what, rest, _ := strings.Cut(rest, " zone=")
	zone, rest, more := strings.Cut(rest, " ")
	if zone == "" || more && (kind != "cron" || rest == "") {
		return Spec{}, notStored(text)
	}
	switch kind {
	case "cron":
		o, ok := storedOptions(zone, rest)
		if !ok {
			return Spec{}, notStored(text)
		}
		return Cron(what, o)
	case "every":
		return parseEvery(text, what, zone)
	case "at":
		t, err := time.Parse(time.RFC3339Nano, what)
		if err != nil {
			return Spec{}, notStored(text)
		}
		return At(t, zone)
	default:
		return Spec{}, notStored(text)
	}
}

// storedOptions reads what is behind the zone of an expression.
func storedOptions(zone, rest string) (Options, bool) {
	o := Options{Zone: zone}
	if after, ok := strings.CutPrefix(rest, "dst=skip"); ok {
		o.DST, rest = Skip, strings.TrimPrefix(after, " ")
	}
	if seed, ok := strings.CutPrefix(rest, "seed="); ok {
		seed, err := strconv.Unquote(seed)
		if err != nil {
			return Options{}, false
		}
		o.Seed, rest = seed, ""
	}
	return o, rest == ""
}

func parseEvery(text, what, zone string) (Spec, error) {
	what, from, anchored := strings.Cut(what, " anchor=")
	interval, err := time.ParseDuration(what)
	if err != nil {
		return Spec{}, notStored(text)
	}
	anchor := time.Time{}
	if anchored {
		if anchor, err = time.Parse(time.RFC3339Nano, from); err != nil {
			return Spec{}, notStored(text)
		}
	}
	return Every(interval, anchor, zone)
}

func notStored(text string) error {
	return syntax("text", text, "not a stored schedule: want cron, every or at, and what belongs to it, as this version writes it")
}

// MarshalText writes a Spec as String does, so that it is a string in JSON.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a Spec as Parse does; an empty text is the zero value.
func (s *Spec) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = Spec{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}
