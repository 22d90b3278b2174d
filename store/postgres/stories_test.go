//go:build soak

package postgres_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// storiesFile has the stories of the conformance suite that are told again where the same
// statements are sent in another way: as few as send each statement, and most of them three times.
// Behind those are the statements that no story sends, each after a dash: they are about other
// servers, callers' transactions, and partitions of tables, whose names are a part of them.
const storiesFile = "testdata/stories.txt"

// timesSent is by how many stories each statement is to be sent, if there are so many.
const timesSent = 3

var update = flag.Bool("update", false, "tell all stories behind a pooler, and write "+storiesFile)

// stories reads the file.
func stories(t *testing.T) (told, unsent []string) {
	t.Helper()
	data, err := os.ReadFile(storiesFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, is := strings.CutPrefix(line, "- "); is {
			unsent = append(unsent, name)
		} else {
			told = append(told, line)
		}
	}
	return told, unsent
}

// TestConformanceBehindPooler has a pool that keeps nothing of a session from one use of a
// connection to the next, as a pooler in transaction mode would. Each statement has to be one that
// needs nothing of a session, and that what is not prepared takes.
func TestConformanceBehindPooler(t *testing.T) { //nolint:tparallel // what was sent is known once all stories are told
	t.Parallel()
	var sent sent
	open := func(t *testing.T, clock *storetest.Clock) store.Store { return behindPooler(t, clock, &sent) }
	if *update {
		t.Run("all", func(t *testing.T) {
			storetest.Run(t, open, append(storetest.Races(), "Large", "Property", "Slots", "Told")...)
		})
		writeStories(t, &sent)
		return
	}
	told, unsent := stories(t)
	t.Run("stories", func(t *testing.T) { storetest.RunStories(t, open, told...) })
	if t.Failed() {
		return
	}
	if got := sent.missing(); !slices.Equal(got, unsent) {
		t.Errorf("%s is out of date; go test -run TestConformanceBehindPooler -update writes it. Not sent:\n%q\nand should be\n%q",
			storiesFile, got, unsent)
	}
}

// behindPooler opens a store, and notes what it sends.
func behindPooler(t *testing.T, clock *storetest.Clock, sent *sent) store.Store {
	t.Helper()
	config, trace := used(t, clock.Now), &tracer{}
	pool := forgetfulPool(t, config, trace)
	s := open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName, NoSession: true, Clock: clock.Now})
	t.Cleanup(func() { sent.add(storyOf(t), trace, s) })
	return s
}

// storyOf is the story that a test tells: its concern and its name.
func storyOf(t *testing.T) string {
	t.Helper()
	parts := strings.Split(t.Name(), "/") // the test, the part of it, the concern, the story
	if len(parts) < 4 {
		t.Fatalf("%s tells no story", t.Name())
	}
	return parts[2] + "/" + parts[3]
}

// writeStories chooses stories and writes the file.
func writeStories(t *testing.T, sent *sent) {
	t.Helper()
	var b bytes.Buffer
	for _, story := range chosen(sent) {
		fmt.Fprintln(&b, story)
	}
	for _, name := range sent.missing() {
		fmt.Fprintln(&b, "- "+name)
	}
	if err := os.WriteFile(storiesFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// costOfStory is what it costs to tell a story, beside the statements that it sends.
const costOfStory = 50

// chosen are few stories that send each statement often enough: each time that one which sends the
// most of what is still missing for what it costs.
func chosen(sent *sent) (stories []string) {
	wanted := map[string]int{}
	for _, names := range sent.names {
		for name := range names {
			wanted[name] = min(wanted[name]+1, timesSent)
		}
	}
	left := maps.Clone(sent.names)
	for {
		best, most := "", 0.0
		for _, story := range slices.Sorted(maps.Keys(left)) {
			n := 0
			for name := range left[story] {
				if wanted[name] > 0 {
					n++
				}
			}
			if worth := float64(n) / float64(costOfStory+sent.count[story]); worth > most {
				best, most = story, worth
			}
		}
		if most == 0 {
			slices.Sort(stories)
			return stories
		}
		for name := range left[best] {
			wanted[name]--
		}
		delete(left, best)
		stories = append(stories, best)
	}
}
