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
	Capacity  int            `json:"capacity"`
	PerKey    bool           `json:"per_key"` // the capacity is that of each key
	Queues    []string       `json:"queues"`  // empty: all
	Kinds     map[string]int `json:"kinds"`   // with the slots that a job takes; empty: all, one each
	Held      int            `json:"held"`    // slots, by all nodes
	Holders   []Holder       `json:"holders"`
	WantedAt  timestamp      `json:"wanted_at"` // when a node last asked for more slots than it got
	Declared  bool           `json:"declared"`  // by code
	Drift     bool           `json:"drift"`     // it differs from what code declares
	CreatedAt timestamp      `json:"created_at"`
	UpdatedAt timestamp      `json:"updated_at"`
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
		Namespace: l.Namespace, Name: l.Name, Capacity: l.Capacity, PerKey: l.PerKey, Queues: append([]string{}, l.Queues...), Kinds: map[string]int{},
		Holders: []Holder{}, Declared: l.Declared != "", Drift: limit.Drifts(l),
		CreatedAt: timestamp(l.CreatedAt), UpdatedAt: timestamp(l.UpdatedAt),
		WantedAt: timestamp(l.WantedAt),
	}
	maps.Copy(v.Kinds, l.Kinds)
	for _, h := range l.Holders {
		v.Holders = append(v.Holders, Holder{Node: Big(h.Node), Slots: h.Slots})
		v.Held += h.Slots
	}
	return v
}

// LimitHeader is the header of a table of limits.
var LimitHeader = []string{"NAME", "CAPACITY", "HELD", "WANTED", "QUEUES", "KINDS", "DRIFT"}

// LimitRow formats a limit for a table.
func LimitRow(now time.Time, l *store.Limit) []string {
	v, drift, wanted := NewLimit(l), "", "never"
	if !l.WantedAt.IsZero() {
		wanted = output.Ago(now, l.WantedAt)
	}
	if v.Drift {
		drift = "yes"
	}
	capacity := strconv.Itoa(l.Capacity)
	if l.PerKey {
		capacity += " per key"
	}
	return []string{
		output.Clip(l.Name, output.MaxName), capacity, strconv.Itoa(v.Held), wanted,
		output.Clip(queuesText(&l.LimitSettings), 60), output.Clip(kindsText(&l.LimitSettings), 60), drift,
	}
}

func queuesText(l *store.LimitSettings) string {
	if l.PerKey {
		return "of jobs that name it"
	}
	if len(l.Queues) == 0 {
		return "all"
	}
	return strings.Join(l.Queues, ", ")
}

func kindsText(l *store.LimitSettings) string {
	if l.PerKey {
		return "of jobs that name it"
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

func capacityText(l *store.LimitSettings) string {
	text := output.Plural(l.Capacity, "slot")
	if l.PerKey {
		text += " for each key"
	}
	return text
}

// LimitText says in a line what a limit does.
func LimitText(l *store.Limit) string {
	text := "limit " + output.OneLine(l.Name) + ": "
	switch l.Capacity {
	case 0:
		text += "no job runs"
	case 1:
		text += "1 slot"
	default:
		text += strconv.Itoa(l.Capacity) + " slots"
	}
	if l.PerKey {
		return text + " for each key"
	}
	return text + "; queues: " + output.OneLine(queuesText(&l.LimitSettings)) + "; kinds: " + output.OneLine(kindsText(&l.LimitSettings))
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
	p.line("capacity", capacityText(&l.LimitSettings))
	p.line("queues", queuesText(&l.LimitSettings))
	p.line("kinds", kindsText(&l.LimitSettings))
	p.line("held", strconv.Itoa(v.Held))
	p.at("last wanted", l.WantedAt)
	p.at("created", l.CreatedAt)
	p.at("changed", l.UpdatedAt)
	if declared, ok := limit.Declared(l); ok && v.Drift {
		p.line("code declares", fmt.Sprintf("%s; queues: %s; kinds: %s", capacityText(&declared),
			queuesText(&declared), kindsText(&declared)))
	}
	p.Flush()
	if len(l.Holders) == 0 {
		return
	}
	out.Printf("\nnodes:")
	w := out.NewTable(2)
	w.Add("NODE", "HOLDS")
	for _, h := range l.Holders {
		w.Add(strconv.FormatInt(h.Node, 10), strconv.Itoa(h.Slots))
	}
	w.Flush()
}
