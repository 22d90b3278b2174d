package cron

import (
	"strings"
	"time"
)

// expression is a cron expression in a zone.
type expression struct {
	fields [dayOfWeek + 1]field // as written
	seed   string               // for H; empty without
	clock  clock
	skip   bool // see Skip

	second, minute, hour uint64 // as bits
	days                 days
	fixed                bool // see the package comment
}

// parseExpression reads five or six fields.
func parseExpression(text string, o Options, zone *time.Location) (*expression, error) {
	texts := strings.Fields(strings.ToUpper(text))
	switch len(texts) {
	case 5:
		texts = append([]string{"0"}, texts...)
	case 6:
	case 7:
		return nil, syntax("expression", text, "has 7 fields; a year is not one of them, limit the schedule by its start and its end")
	default:
		return nil, syntax("expression", text, "has %d fields; want five, which are minute, hour, day, month and weekday, "+
			"or six with a second in front", len(texts))
	}
	e := &expression{clock: clock{zone}, skip: o.DST == Skip}
	for i := range e.fields {
		f, err := parseField(unit(i), texts[i])
		if err != nil {
			return nil, err
		}
		if f.isSpread() {
			e.seed = o.Seed
			if o.Seed == "" {
				return nil, syntax(units[i].name, texts[i], "H is spread by the name of the schedule, and none is given")
			}
		}
		e.fields[i] = f
	}
	e.second = e.fields[second].values(second, o.Seed)
	e.minute = e.fields[minute].values(minute, o.Seed)
	e.hour = e.fields[hour].values(hour, o.Seed)
	e.days = daysOf(e.fields[dayOfMonth], e.fields[month], e.fields[dayOfWeek], o.Seed)
	e.fixed = !e.fields[minute].isOpen() && !e.fields[hour].isOpen()
	if !e.days.everCome() {
		return nil, &ImpossibleError{text}
	}
	return e, nil
}

// String is the expression as it is stored: with numbers for names, and with a second only if it is
// not 0.
func (e *expression) String() string {
	texts := make([]string, 0, len(e.fields))
	for i, f := range e.fields {
		if text := f.String(); unit(i) != second || text != "0" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
}
