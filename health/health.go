// Package health answers the probes of an orchestrator, such as those of Kubernetes, about the node
// of a program:
//
//	http.Handle("/health/", http.StripPrefix("/health", health.Handler(hf)))
//
// It tells what the node knows. Of the database a probe asks a row, once a second at the most,
// however many probes there are, and waits for it for half a second: so it costs next to nothing,
// and does not hang.
//
// # Imports
//
// Of ours, the root package, and internal/access.
package health

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
)

// Handler answers about the node of a client, with 200 or 503:
//
//	/livez   503 if the node has ended by itself, with an error: only a restart helps
//	/readyz  503 if anything is wrong: no node runs, the database does not answer, a part is down
//	/        the same as JSON: a Report
//
// The body of a 503 says what is wrong. Another path is a 404, and another method than GET or HEAD
// a 405.
func Handler(c *holdfast.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if e, _ := access.Engine(c); strings.Trim(r.URL.Path, "/") != "livez" {
			e.Prober.Probe(r.Context())
		}
		h := c.Health()
		switch strings.Trim(r.URL.Path, "/") {
		case "livez":
			answer(w, h.Ended)
		case "readyz":
			answer(w, h.Err())
		case "":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status(h.Err()))
			encoder := json.NewEncoder(w)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(ReportOf(h)) // the client may have gone
		default:
			http.NotFound(w, r)
		}
	})
}

func answer(w http.ResponseWriter, err error) {
	text := "ok"
	if err != nil {
		text = err.Error()
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status(err))
	_, _ = w.Write([]byte(text + "\n")) // the client may have gone
}

func status(err error) int {
	if err != nil {
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// Report is a holdfast.Health as JSON. Times are RFC 3339 in UTC, durations as Go writes them;
// 64-bit ids are strings.
type Report struct {
	Error        *string              `json:"error"`      // what is wrong, or null
	Node         *string              `json:"node"`       // its id, or null if none runs
	Leader       bool                 `json:"leader"`     // it does the maintenance of the database
	Mode         string               `json:"mode"`       // running, quiet or draining, as people want it
	BeatAt       *time.Time           `json:"beat_at"`    // of the last heartbeat
	Silent       string               `json:"silent"`     // since then
	DeadAfter    string               `json:"dead_after"` // after which other nodes take its jobs
	RoundTrip    string               `json:"round_trip"` // of the last heartbeat
	AwaySince    *time.Time           `json:"away_since"` // the database does not answer since then
	Lag          string               `json:"lag"`        // of the first job that waits, about
	Running      int                  `json:"running"`
	Pending      int                  `json:"pending"` // outcomes that are not stored yet
	HooksDropped int64                `json:"hooks_dropped"`
	Loops        map[string]time.Time `json:"loops"` // and their last turn
	Panics       []Panic              `json:"panics"`
}

// Panic is a part of Holdfast that has panicked.
type Panic struct {
	Part  string    `json:"part"`
	Count int       `json:"count"`
	Last  string    `json:"last"`
	At    time.Time `json:"at"`
	Down  bool      `json:"down"`
}

// ReportOf returns the report of the state of a node.
func ReportOf(h holdfast.Health) Report {
	r := Report{
		Leader: h.Leader, Mode: h.Mode.String(), BeatAt: timeOf(h.BeatAt), Silent: h.Silent.Round(time.Millisecond).String(),
		DeadAfter: h.DeadAfter.String(),
		RoundTrip: h.RoundTrip.String(), AwaySince: timeOf(h.AwaySince), Lag: h.Lag.Round(time.Millisecond).String(),
		Running: h.Running, Pending: h.Pending, HooksDropped: h.HooksDropped,
		Loops: make(map[string]time.Time, len(h.Loops)), Panics: make([]Panic, len(h.Panics)),
	}
	if err := h.Err(); err != nil {
		r.Error = new(err.Error())
	}
	if h.Node != 0 {
		r.Node = new(strconv.FormatInt(h.Node, 10))
	}
	for loop, at := range h.Loops {
		r.Loops[loop] = at.UTC()
	}
	for i, p := range h.Panics {
		r.Panics[i] = Panic{Part: p.Part, Count: p.Count, Last: p.Last, At: p.At.UTC(), Down: p.Down}
	}
	return r
}

func timeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}
