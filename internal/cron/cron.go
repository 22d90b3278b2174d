package cron

import (
	"strings"
	"time"
)

// maxExpression is how long an expression may be: more than a minute's field with all its values.
const maxExpression = 500

var macros = map[string]string{
	"@YEARLY":   "0 0 1 1 *",
	"@ANNUALLY": "0 0 1 1 *",
	"@MONTHLY":  "0 0 1 * *",
	"@WEEKLY":   "0 0 * * 0",
	"@DAILY":    "0 0 * * *",
	"@MIDNIGHT": "0 0 * * *",
	"@HOURLY":   "0 * * * *",
}

// Cron makes a Spec of an expression. Of @every, the anchor is 1970 in UTC.
func Cron(text string, o Options) (Spec, error) {
	zone, err := loadZone(o.Zone)
	if err != nil {
		return Spec{}, err
	}
	text = strings.TrimSpace(text)
	if len(text) > maxExpression {
		return Spec{}, syntax("expression", text, "has %d characters, at most %d", len(text), maxExpression)
	}
	for _, prefix := range []string{"CRON_TZ=", "TZ="} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			name, rest, _ := strings.Cut(rest, " ")
			return Spec{}, syntax("expression", text, "give the zone beside the expression: the zone %s, and %s",
				quoted(name), quoted(strings.TrimSpace(rest)))
		}
	}
	if strings.HasPrefix(text, "@") {
		name, rest, _ := strings.Cut(text, " ")
		name = strings.ToUpper(name)
		if name == "@EVERY" {
			return every1970(strings.TrimSpace(rest), zone)
		}
		if macros[name] == "" || rest != "" {
			return Spec{}, syntax("expression", text,
				"want @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or @every and a duration")
		}
		text = macros[name]
	}
	e, err := parseExpression(text, o, zone)
	if err != nil {
		return Spec{}, err
	}
	return Spec{e}, nil
}

func every1970(text string, zone *time.Location) (Spec, error) {
	interval, err := time.ParseDuration(text)
	if err != nil {
		return Spec{}, syntax("interval", text, "want a duration, such as 90s, 15m or 36h")
	}
	return newEvery(interval, time.Unix(0, 0), zone)
}

// Every makes a Spec that fires at the anchor and each interval after and before that, whatever the
// clock shows: when a schedule begins and ends is another question. An anchor that is zero is 1970
// in UTC. The zone, default UTC, is that of the times that Next returns.
func Every(interval time.Duration, anchor time.Time, zone string) (Spec, error) {
	location, err := loadZone(zone)
	if err != nil {
		return Spec{}, err
	}
	if anchor.IsZero() {
		anchor = time.Unix(0, 0)
	}
	return newEvery(interval, anchor, location)
}

func newEvery(interval time.Duration, anchor time.Time, zone *time.Location) (Spec, error) {
	if interval < time.Second || interval%time.Microsecond != 0 {
		return Spec{}, syntax("interval", interval.String(), "want a second at least, in whole microseconds")
	}
	anchor, err := inRange("anchor", anchor, zone)
	if err != nil {
		return Spec{}, err
	}
	return Spec{&every{interval, anchor, zone}}, nil
}

// At makes a Spec that fires once, at a time in whole microseconds, rounded down.
func At(t time.Time, zone string) (Spec, error) {
	location, err := loadZone(zone)
	if err != nil {
		return Spec{}, err
	}
	t, err = inRange("time", t, location)
	if err != nil {
		return Spec{}, err
	}
	return Spec{&once{t}}, nil
}

// inRange is a time in the zone, in microseconds, if all that is done with it has years of four
// digits.
func inRange(field string, t time.Time, zone *time.Location) (time.Time, error) {
	if t.Before(time.Unix(earliest, 0)) || t.After(time.Unix(latest, 0)) {
		return time.Time{}, syntax(field, t.UTC().Format(time.RFC3339), "want a time in the years 1 to 9999")
	}
	return time.UnixMicro(t.UnixMicro()).In(zone), nil
}
