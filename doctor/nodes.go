package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// clocksDiffer is from when on a difference between clocks is told.
	clocksDiffer = time.Second
	// mostUnserved is how many kinds are looked at that no node serves, and mostNamed how many
	// things one finding names.
	mostUnserved, mostNamed = 1000, 3
)

// clockFinding compares the clock of the database with that of this machine.
func clockFinding(ahead time.Duration) store.Finding {
	f := store.Finding{Check: "clock", Text: "the clocks of the database and of this machine agree"}
	if ahead.Abs() < clocksDiffer {
		return f
	}
	side := map[bool]string{true: "ahead of", false: "behind"}[ahead > 0]
	f.Severity = store.Warning
	f.Text = fmt.Sprintf("the clock of the database is %v %s that of this machine", ahead.Abs().Round(time.Millisecond), side)
	f.Do = "let both follow a time server (NTP); jobs are due by the clock of the database, and run times that a program computes by its own"
	return f
}

// nodeFindings are about the nodes that live, or should have been declared dead.
func nodeFindings(nodes []store.Node, now time.Time) []store.Finding {
	alive, silent, unwell := 0, store.Finding{Check: "silent nodes"}, store.Finding{Check: "unwell nodes"}
	leads := false
	versions := map[string]int{}
	var late, ill []string
	for i := range nodes {
		n := &nodes[i]
		if !n.DeadAt.IsZero() {
			continue
		}
		leads = leads || n.Leader
		name := fmt.Sprintf("node %d (%s)", n.ID, n.Info.Name)
		switch {
		case n.IsLate(now):
			late = append(late, fmt.Sprintf("%s has sent no heartbeat for %v", name, now.Sub(n.BeatAt).Round(time.Second)))
			if n.IsSilent(now) {
				silent.Severity = store.Problem
			}
		default:
			alive++
			versions[n.Info.Version]++
		}
		if len(n.Unwell) > 0 {
			ill = append(ill, name+": "+strings.Join(n.Unwell, ", "))
		}
	}
	silent.Text, unwell.Text = "every node has been heard of lately", "no node says that anything is wrong"
	if late != nil {
		silent.Severity = max(silent.Severity, store.Warning)
		silent.Text = some(late)
		silent.Do = "look at these machines; the jobs of a node that was killed go on elsewhere as soon as another node is left to see it"
	}
	if ill != nil {
		unwell.Severity, unwell.Text = store.Warning, some(ill)
		unwell.Do = "look at the log of the node, and at holdfast node get ID"
	}
	return []store.Finding{aliveFinding(alive, leads, versions), silent, unwell}
}

// aliveFinding is about the nodes that have been heard of lately.
func aliveFinding(alive int, leads bool, versions map[string]int) store.Finding {
	f := store.Finding{Check: "nodes", Text: fmt.Sprintf("%d alive", alive)}
	switch {
	case alive == 0:
		f.Severity, f.Text = store.Warning, "none is alive, so no job runs, and schedules enqueue nothing"
		f.Do = "start a program with handlers, or holdfast worker"
	case !leads:
		f.Severity = store.Warning
		f.Text += ", none of which does the maintenance at this moment"
		f.Do = "look again in half a minute; if it stays so, look at the logs of the nodes"
	case len(versions) > 1:
		var names []string
		for version, n := range versions {
			names = append(names, fmt.Sprintf("%d of %s", n, version))
		}
		slices.Sort(names)
		f.Severity, f.Text = store.Note, f.Text+", of different versions: "+some(names)
		f.Do = "go on with the upgrade, if one is under way"
	}
	return f
}

// unservedFinding is about jobs that wait in vain.
func unservedFinding(waiting []store.Unserved) store.Finding {
	f := store.Finding{Check: "jobs without nodes", Text: "a node serves each job that is available"}
	var names []string
	for _, u := range waiting {
		name := fmt.Sprintf("kind %s in queue %s of namespace %s", u.Kind, u.Queue, u.Namespace)
		if u.Version != "" {
			name += ", version " + u.Version
		}
		names = append(names, name)
	}
	if names != nil {
		f.Severity, f.Text = store.Problem, "no node that is alive runs the available jobs of "+some(names)
		f.Do = "start a program that handles them in that queue, or look at holdfast kind list for a name that was changed"
	}
	return f
}

// some joins the first names, and says how many there are beside them.
func some(names []string) string {
	if more := len(names) - mostNamed; more > 0 {
		return strings.Join(names[:mostNamed], "; ") + fmt.Sprintf("; and %d more", more)
	}
	return strings.Join(names, "; ")
}
