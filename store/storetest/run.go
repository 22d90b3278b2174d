package storetest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest/access"
	"github.com/holdfastdev/holdfast/store/storetest/attributes"
	"github.com/holdfastdev/holdfast/store/storetest/batches"
	"github.com/holdfastdev/holdfast/store/storetest/copies"
	"github.com/holdfastdev/holdfast/store/storetest/dead"
	"github.com/holdfastdev/holdfast/store/storetest/depend"
	"github.com/holdfastdev/holdfast/store/storetest/descriptors"
	"github.com/holdfastdev/holdfast/store/storetest/durable"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/facts"
	"github.com/holdfastdev/holdfast/store/storetest/fair"
	"github.com/holdfastdev/holdfast/store/storetest/family"
	"github.com/holdfastdev/holdfast/store/storetest/feed"
	"github.com/holdfastdev/holdfast/store/storetest/gates"
	"github.com/holdfastdev/holdfast/store/storetest/joblogs"
	"github.com/holdfastdev/holdfast/store/storetest/jobs"
	"github.com/holdfastdev/holdfast/store/storetest/keys"
	"github.com/holdfastdev/holdfast/store/storetest/limits"
	"github.com/holdfastdev/holdfast/store/storetest/lists"
	"github.com/holdfastdev/holdfast/store/storetest/machine"
	"github.com/holdfastdev/holdfast/store/storetest/nodes"
	"github.com/holdfastdev/holdfast/store/storetest/operate"
	"github.com/holdfastdev/holdfast/store/storetest/outside"
	"github.com/holdfastdev/holdfast/store/storetest/race"
	"github.com/holdfastdev/holdfast/store/storetest/requests"
	"github.com/holdfastdev/holdfast/store/storetest/retention"
	"github.com/holdfastdev/holdfast/store/storetest/schedules"
	"github.com/holdfastdev/holdfast/store/storetest/starts"
	"github.com/holdfastdev/holdfast/store/storetest/updates"
)

// groups are all tests, by what they are about.
var groups = env.Merged(
	jobs.Groups, keys.Groups, starts.Groups, copies.Groups, durable.Groups, updates.Groups, family.Groups, nodes.Groups, operate.Groups,
	lists.Groups, outside.Groups, race.Groups, machine.Groups, schedules.Groups, limits.Groups, gates.Groups, fair.Groups,
	depend.Groups, batches.Groups, joblogs.Groups, dead.Groups, feed.Groups, facts.Groups, retention.Groups, descriptors.Groups,
	attributes.Groups, access.Groups, requests.Groups,
)

// Run checks that the stores that open returns keep the contract. Concerns that are left out are
// those that another run on the same kind of store has checked and that the difference between the
// two cannot touch.
func Run(t *testing.T, open Factory, without ...string) {
	machine.Seed()
	for _, name := range without {
		if groups[name] == nil {
			t.Fatalf("there is no concern named %s", name)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if !slices.Contains(without, group) {
			runGroup(t, open, group, slices.Sorted(maps.Keys(groups[group])))
		}
	}
}

// RunStories checks some stories alone, each named by its concern, a slash and its name.
func RunStories(t *testing.T, open Factory, stories ...string) {
	machine.Seed()
	of := map[string][]string{}
	for _, story := range stories {
		group, name, _ := strings.Cut(story, "/")
		if groups[group][name] == nil {
			t.Fatalf("there is no story named %q", story)
		}
		of[group] = append(of[group], name)
	}
	for _, group := range slices.Sorted(maps.Keys(of)) {
		runGroup(t, open, group, of[group])
	}
}

// runGroup runs stories of a concern.
func runGroup(t *testing.T, open Factory, group string, names []string) {
	t.Run(group, func(t *testing.T) {
		t.Parallel()
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				groups[group][name](env.New(t, open))
			})
		}
	})
}

// Races are the concerns in which goroutines compete, which is what the race detector is for.
func Races() []string {
	return others(func(name string) bool { return !strings.HasPrefix(name, env.Race) })
}

// Steps are the concerns that are told step by step.
func Steps() []string { return AllBut(Races()...) }

// AllBut are the other concerns.
func AllBut(names ...string) []string {
	return others(func(name string) bool { return slices.Contains(names, name) })
}

// others are the concerns without some.
func others(without func(name string) bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(groups)), without)
}
