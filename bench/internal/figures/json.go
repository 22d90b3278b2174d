package figures

import (
	"encoding/json"
	"io"
	"time"
)

// SchemaVersion is that of the JSON lines. It grows when a field changes its meaning.
const SchemaVersion = 1

// Record is a line of the JSON output: one run of one scenario with one system.
type Record struct {
	Schema   int               `json:"schema"`
	Time     time.Time         `json:"time"`
	Scenario string            `json:"scenario"`
	Store    string            `json:"store"`
	System   string            `json:"system"`
	Round    int               `json:"round"` // from 1
	Measure  Measure           `json:"measure"`
	Sizes    any               `json:"sizes"`
	Versions map[string]string `json:"versions"`
	Settings map[string]string `json:"settings"`
	Sample
}

// Summary is a line of the JSON output: all rounds of a system in a scenario.
type Summary struct {
	Schema   int               `json:"schema"`
	Scenario string            `json:"scenario"`
	Store    string            `json:"store"`
	System   string            `json:"system"`
	Rounds   int               `json:"rounds"`
	Measure  Measure           `json:"measure"`
	Spreads  map[string]Spread `json:"spreads"`
	Ratio    *float64          `json:"ours_is_better_by,omitempty"` // of a peer
}

// Summarize returns the summary of a row; ours is the row to which it is compared, or nil.
func Summarize(scenario, store string, m Measure, row Row, ours *Row) Summary {
	s := Summary{
		Schema: SchemaVersion, Scenario: scenario, Store: store, System: row.System, Rounds: len(row.Samples), Measure: m,
		Spreads: map[string]Spread{},
	}
	for _, sample := range row.Samples {
		for name := range sample.Figures {
			s.Spreads[name], _ = row.Spread(name)
		}
	}
	if ours != nil {
		if ratio, ok := Ratio(m, *ours, row); ok {
			s.Ratio = &ratio
		}
	}
	return s
}

// WriteLine writes a record or a summary.
func WriteLine(w io.Writer, line any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(line)
}
