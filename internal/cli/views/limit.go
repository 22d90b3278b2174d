package views

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// Limit is a limit and who holds its slots.
type Limit struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Capacity  *int           `json:"capacity"`   // null: any number of jobs runs at once
	Rate      Text           `json:"rate"`       // such as 50/s; null: any number starts
	Burst     *int           `json:"burst"`      // so many of these start at once
	PerKey    bool           `json:"per_key"`    // the capacity and the rate are those of each key
	FairShare bool           `json:"fair_share"` // nodes share the slots evenly
	Queues    []string       `json:"queues"`     // empty: all
	Kinds     map[string]int `json:"kinds"`      // with the slots that a job takes; empty: all, one each
	NoJobs    bool           `json:"no_jobs"`    // no job counts
	Held      *int           `json:"held"`       // slots, by all nodes; null: nodes hold none, whatever runs
	Holders   []Holder       `json:"holders"`
	Wishes    []Holder       `json:"wishes"`    // the nodes that would hold more of a fair share, and how many
	WantedAt  Timestamp      `json:"wanted_at"` // when a node last asked for more slots than it got
	NextAt    Timestamp      `json:"next_at"`   // when the next job may start by the rate, if that is later
	Drained   Timestamp      `json:"drained_until"`
	Declared  bool           `json:"declared"` // by code
	Drift     bool           `json:"drift"`    // it differs from what code declares
	CreatedAt Timestamp      `json:"created_at"`
	UpdatedAt Timestamp      `json:"updated_at"`
}

// Holder is a node that holds slots of a limit.
type Holder struct {
	Node  Big `json:"node"`
	Slots int `json:"slots"`
}

// DeletedLimit is a limit that was to be deleted.
type DeletedLimit struct {
	Namespace string `json:"namespace"`
	Limit     string `json:"limit"`
	Deleted   bool   `json:"deleted"`
	Error     Text   `json:"error"`
}

// NewLimit returns the view of a limit.
func NewLimit(l *store.Limit) Limit {
	v := Limit{
		Namespace: l.Namespace, Name: l.Name, PerKey: l.PerKey, FairShare: l.Fair, NoJobs: l.NoJobs,
		Queues: append([]string{}, l.Queues...), Kinds: map[string]int{},
		Holders: []Holder{}, Wishes: []Holder{}, Declared: l.Declared != "", Drift: limit.Drifts(l),
		CreatedAt: Timestamp(l.CreatedAt), UpdatedAt: Timestamp(l.UpdatedAt),
		WantedAt: Timestamp(l.WantedAt),
	}
	if !l.Uncapped {
		v.Capacity = &l.Capacity
	}
	if l.Rate != nil {
		burst := l.Rate.Bursts()
		v.Rate, v.Burst, v.NextAt, v.Drained = Text(l.Rate.String()), &burst, Timestamp(l.NextAt), Timestamp(l.DrainedUntil)
	}
	maps.Copy(v.Kinds, l.Kinds)
	held := 0
	for _, h := range l.Holders {
		v.Holders = append(v.Holders, Holder{Node: Big(h.Node), Slots: h.Slots})
		held += h.Slots
	}
	if !l.PerKey && !l.Uncapped {
		v.Held = &held
	}
	for _, h := range l.Wishes {
		v.Wishes = append(v.Wishes, Holder{Node: Big(h.Node), Slots: h.Slots})
	}
	return v
}

// LimitHeader is the header of a table of limits.
var LimitHeader = []string{"NAME", "CAPACITY", "HELD", "RATE", "WANTED", "QUEUES", "KINDS", "DRIFT"}

// LimitRow formats a limit for a table.
func LimitRow(now time.Time, l *store.Limit) []string {
	v, drift, held, wanted := NewLimit(l), "", "-", "-"
	if v.Held != nil {
		held, wanted = strconv.Itoa(*v.Held), "never"
	}
	if !l.WantedAt.IsZero() {
		wanted = output.Ago(now, l.WantedAt)
	}
	if v.Drift {
		drift = "yes"
	}
	return []string{
		output.Clip(l.Name, output.MaxName), capacityText(&l.LimitSettings), held, rateText(&l.LimitSettings), wanted,
		output.Clip(queuesText(&l.LimitSettings), 60), output.Clip(kindsText(&l.LimitSettings), 60), drift,
	}
}

// capacityText is how many jobs run at once.
func capacityText(l *store.LimitSettings) string {
	if l.Uncapped {
		return "any"
	}
	if l.PerKey {
		return strconv.Itoa(l.Capacity) + " per key"
	}
	return strconv.Itoa(l.Capacity)
}

// rateText is how many jobs start in a time.
func rateText(l *store.LimitSettings) string {
	if l.Rate == nil {
		return "any"
	}
	text := fmt.Sprintf("%s, %d at once", l.Rate, l.Rate.Bursts())
	if l.PerKey {
		text += ", for each key"
	}
	return text
}

func queuesText(l *store.LimitSettings) string {
	switch {
	case l.PerKey:
		return "of jobs that name it"
	case l.NoJobs:
		return "none"
	}
	if len(l.Queues) == 0 {
		return "all"
	}
	return strings.Join(l.Queues, ", ")
}

func kindsText(l *store.LimitSettings) string {
	switch {
	case l.PerKey:
		return "of jobs that name it"
	case l.NoJobs:
		return "none"
	}
	if len(l.Kinds) == 0 {
		return "all"
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
		if n := l.Kinds[kind]; n != 1 {
			kind += " (" + strconv.Itoa(n) + " slots)"
		}
		texts = append(texts, kind)
	}
	return strings.Join(texts, ", ")
}

// slotsText is how many slots a limit has.
func slotsText(l *store.LimitSettings) string {
	text := output.Plural(l.Capacity, "slot")
	if l.PerKey {
		text += " for each key"
	}
	if l.Fair {
		text += ", in even parts for each node"
	}
	return text
}

// LimitText says in a line what a limit does.
func LimitText(l *store.Limit) string {
	text := "limit " + output.OneLine(l.Name) + ": " + boundText(&l.LimitSettings)
	if l.PerKey {
		return text
	}
	return text + "; queues: " + output.OneLine(queuesText(&l.LimitSettings)) + "; kinds: " + output.OneLine(kindsText(&l.LimitSettings))
}

// boundText says what a limit lets run and start.
func boundText(l *store.LimitSettings) string {
	var texts []string
	switch {
	case l.Uncapped:
	case l.Capacity == 0:
		texts = append(texts, "no job runs")
	default:
		texts = append(texts, slotsText(l))
	}
	switch {
	case l.Rate == nil:
	case l.Rate.Count == 0:
		texts = append(texts, "no job starts")
	default:
		texts = append(texts, rateText(l))
	}
	return strings.Join(texts, "; ")
}

// HoldersText says which nodes hold slots.
func HoldersText(holders []store.Holder) string {
	var texts []string
	for _, h := range holders {
		if h.Slots > 0 {
			texts = append(texts, fmt.Sprintf("node %d holds %s", h.Node, output.Plural(h.Slots, "slot")))
		}
	}
	return strings.Join(texts, ", ")
}

// PrintLimit prints all that is known of a limit.
func PrintLimit(out *output.Printer, now time.Time, l *store.Limit) {
	p := jobPrint{out.NewTable(3), now}
	v := NewLimit(l)
	p.line("name", l.Name)
	p.line("namespace", l.Namespace)
	if !l.Uncapped {
		p.line("capacity", slotsText(&l.LimitSettings))
	}
	if l.Rate != nil {
		p.line("rate", rateText(&l.LimitSettings))
		p.at("next permit", l.NextAt)
		p.at("drained until", l.DrainedUntil)
	}
	p.line("queues", queuesText(&l.LimitSettings))
	p.line("kinds", kindsText(&l.LimitSettings))
	switch {
	case v.Held != nil:
		p.line("held", strconv.Itoa(*v.Held))
	case l.PerKey:
		p.line("held", "by no node: each claim counts what runs of its keys; "+
			"\"holdfast job why ID\" of a job that waits says what runs of its key")
	}
	p.at("last wanted", l.WantedAt)
	p.at("created", l.CreatedAt)
	p.at("changed", l.UpdatedAt)
	if declared, ok := limit.Declared(l); ok && v.Drift {
		p.line("code declares", fmt.Sprintf("%s; queues: %s; kinds: %s", boundText(&declared),
			queuesText(&declared), kindsText(&declared)))
	}
	p.Flush()
	if len(l.Holders) == 0 && len(l.Wishes) == 0 {
		return
	}
	out.Printf("\nnodes:")
	w := out.NewTable(2)
	if l.Fair {
		w.Add("NODE", "HOLDS", "WANTS")
	} else {
		w.Add("NODE", "HOLDS")
	}
	for _, row := range holderRows(l) {
		w.Add(row...)
	}
	w.Flush()
}

// holderRows are the rows of the nodes that hold slots of a limit, or wish for some.
func holderRows(l *store.Limit) (rows [][]string) {
	holds, wants := map[int64]int{}, map[int64]int{}
	for _, h := range l.Holders {
		holds[h.Node], wants[h.Node] = h.Slots, h.Slots
	}
	for _, h := range l.Wishes {
		wants[h.Node] = h.Slots
	}
	for _, node := range slices.Sorted(maps.Keys(wants)) {
		row := []string{strconv.FormatInt(node, 10), strconv.Itoa(holds[node])}
		if l.Fair {
			row = append(row, strconv.Itoa(wants[node]))
		}
		rows = append(rows, row)
	}
	return rows
}
