package views

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Kind is a kind of jobs that live nodes serve, or of which jobs wait that none claims.
type Kind struct {
	Name     string     `json:"name"`
	Versions []string   `json:"versions"` // that nodes serve, or jobs are bound to
	Nodes    []string   `json:"nodes"`    // that serve it, by their numbers
	Unserved []Unserved `json:"unserved"`
}

// Unserved are jobs of a kind that wait in a queue where no live node claims them.
type Unserved struct {
	Kind      string    `json:"kind"`
	Queue     string    `json:"queue"`
	Version   Text      `json:"version"`
	Known     bool      `json:"known"` // live nodes have the kind, but do not serve the queue
	OldestDue Timestamp `json:"oldest_due"`
}

func newUnserved(u *store.Unserved) Unserved {
	return Unserved{Kind: u.Kind, Queue: u.Queue, Version: Text(u.Version), Known: u.Known, OldestDue: Timestamp(u.OldestDue)}
}

// KindsOf lists the kinds of a namespace, by name; described are those of which code has told.
func KindsOf(namespace string, nodes []store.Node, unserved []store.Unserved, described []string, now time.Time) []Kind {
	var kinds []Kind
	named := func(name, version string) *Kind {
		i, found := slices.BinarySearchFunc(kinds, name, func(k Kind, name string) int { return strings.Compare(k.Name, name) })
		if !found {
			kinds = slices.Insert(kinds, i, Kind{Name: name, Versions: []string{}, Nodes: []string{}, Unserved: []Unserved{}})
		}
		k := &kinds[i]
		if at, found := slices.BinarySearch(k.Versions, version); !found && version != "" {
			k.Versions = slices.Insert(k.Versions, at, version)
		}
		return k
	}
	for i := range nodes {
		n := &nodes[i]
		if !isAlive(n, now) || n.Info.Namespace != "" && n.Info.Namespace != namespace {
			continue
		}
		for _, bound := range kindsOf(n) {
			name, version, _ := strings.Cut(bound, "@")
			k := named(name, version)
			if id := strconv.FormatInt(n.ID, 10); !slices.Contains(k.Nodes, id) {
				k.Nodes = append(k.Nodes, id)
			}
		}
	}
	for i := range unserved {
		k := named(unserved[i].Kind, unserved[i].Version)
		k.Unserved = append(k.Unserved, newUnserved(&unserved[i]))
	}
	for _, name := range described {
		named(name, "")
	}
	return kinds
}

// KindHeader is the header of a table of kinds.
var KindHeader = []string{"NAME", "VERSIONS", "NODES", "UNSERVED"}

// KindRow formats a kind for a table.
func KindRow(now time.Time, k *Kind) []string {
	var waits []string
	for _, u := range k.Unserved {
		waits = append(waits, fmt.Sprintf("in queue %s, due %s", output.Clip(u.Queue, output.MaxName), output.Ago(now, time.Time(u.OldestDue))))
	}
	return []string{
		output.Clip(k.Name, output.MaxName), output.Clip(strings.Join(k.Versions, ","), 40), strconv.Itoa(len(k.Nodes)),
		strings.Join(waits, "; "),
	}
}
