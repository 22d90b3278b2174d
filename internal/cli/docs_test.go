package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/vet"
	"github.com/holdfastdev/holdfast/store"
)

// flagCells are the first cells of the rows of a table of flags.
var (
	flagCells = regexp.MustCompile("(?m)^\\| (`--.*?) \\|")
	flagName  = regexp.MustCompile("`--([a-z-]+)")
)

// flagsIn returns the flags that the tables of a section list, sorted.
func flagsIn(section string) (flags []string) {
	for _, cell := range flagCells.FindAllStringSubmatch(section, -1) {
		for _, name := range flagName.FindAllStringSubmatch(cell[1], -1) {
			flags = append(flags, name[1])
		}
	}
	slices.Sort(flags)
	return flags
}

// variablesByFlag returns the flag and the verbs of each variable; "all commands" are all that take
// a global flag.
func variablesByFlag() map[string]string {
	verbs := map[string][]string{}
	commands(func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name := app.VariableOf(f); name != "" {
				verbs[name+" --"+f.Name] = append(verbs[name+" --"+f.Name], "`"+strings.TrimPrefix(cmd.CommandPath(), "holdfast ")+"`")
			}
		})
	})
	found := map[string]string{}
	for variable, of := range verbs {
		slices.Sort(of)
		found[variable] = strings.Join(slices.Compact(of), ", ")
		if found[variable] == "`holdfast`" {
			found[variable] = "all commands"
		}
	}
	return found
}

// variableRow is a row of the table of variables.
var variableRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| `(--[a-z-]+)` \\| (.*?) \\|")

func variablesIn(section string) map[string]string {
	found := map[string]string{}
	for _, row := range variableRow.FindAllStringSubmatch(section, -1) {
		of := strings.Split(row[3], ", ")
		slices.Sort(of)
		found[row[1]+" "+row[2]] = strings.Join(of, ", ")
	}
	return found
}

// TestReference checks docs/cli.md against the commands: every verb, every flag, every field of the
// JSON.
func TestReference(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	sections := map[string]string{}
	for section := range strings.SplitSeq(doc, "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	commands(func(cmd *cobra.Command) {
		if !strings.Contains(doc, "`"+cmd.CommandPath()) {
			t.Errorf("docs/cli.md does not mention `%s`", cmd.CommandPath())
		}
		if cmd.HasSubCommands() {
			return
		}
		text := sections["`"+cmd.CommandPath()+"`"]
		if text == "" {
			t.Errorf("docs/cli.md has no section `%s`", cmd.CommandPath())
		}
		if !strings.Contains(doc, "(#"+strings.ReplaceAll(cmd.CommandPath(), " ", "-")+")") {
			t.Errorf("the table of commands in docs/cli.md lacks `%s`", cmd.CommandPath())
		}
		var flags []string
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				flags = append(flags, f.Name)
			}
		})
		if documented := flagsIn(text); !slices.Equal(flags, documented) {
			t.Errorf("%s has the flags %v, and docs/cli.md lists %v", cmd.CommandPath(), flags, documented)
		}
		for _, flag := range []string{app.FlagDatabase, app.FlagNamespace, app.FlagOutput, app.FlagQuiet} {
			if has := strings.Contains(text, "`--"+flag+"`"); has != app.UsesFlag(cmd, flag) {
				t.Errorf("docs/cli.md on %s and --%s: mentioned %t, used %t", cmd.CommandPath(), flag, has, app.UsesFlag(cmd, flag))
			}
		}
	})
	if diff := cmp.Diff(variablesByFlag(), variablesIn(sections["Environment variables"])); diff != "" {
		t.Errorf("the variables of docs/cli.md differ from those of the program:\n%s", diff)
	}
	for _, view := range []any{
		views.Job{},
		views.Backoff{},
		views.Checkpoint{},
		views.Attempt{},
		views.Cause{},
		views.Wait{},
		views.JournalLine{},
		views.Forked{},
		views.Sent{},
		views.Answered{},
		views.Item{},
		views.Queue{},
		views.Count{},
		views.Node{},
		views.Enqueued{},
		views.Changed{},
		views.Paused{},
		views.DeletedQueue{},
		views.AskedNode{},
		views.Maintained{},
		views.QueueNode{},
		views.Kind{},
		views.Unserved{},
		views.Schedule{},
		views.ScheduledJob{},
		views.ScheduleRun{},
		views.NextTime{},
		views.ClockChange{},
		views.Difference{},
		views.Backfill{},
		views.DeletedSchedule{},
		views.Schema{},
		vet.Finding{},
		views.Bench{},
		views.Version{},
	} {
		of := reflect.TypeOf(view)
		for field := range of.Fields() {
			if name := field.Tag.Get("json"); !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/cli.md says nothing of the field %s of %s", name, of.Name())
			}
		}
	}
	for _, code := range []int{app.ExitOK, app.ExitError, app.ExitTimeout, app.ExitUsage, app.ExitInterrupted} {
		if !strings.Contains(sections["Exit codes"], fmt.Sprintf("| %d |", code)) {
			t.Errorf("docs/cli.md does not list the exit code %d", code)
		}
	}
	for _, kind := range []store.ActionKind{
		store.ActionCancel, store.ActionTerminate, store.ActionRetry, store.ActionPause, store.ActionResume, store.ActionFork,
		store.ActionContinue, store.ActionEdit, store.ActionComplete, store.ActionFail,
	} {
		if row := regexp.MustCompile(`\n\| .actions. \|.*\n`).FindString(doc); !strings.Contains(row, "`"+string(kind)+"`") {
			t.Errorf("docs/cli.md does not list the action %s: %s", kind, row)
		}
	}
	logged := regexp.MustCompile("(?s)```\n  (\\d\\d:\\d\\d:\\d\\d .*?)\n  ```").FindStringSubmatch(doc)
	if len(logged) == 0 {
		t.Fatal("docs/cli.md has no sample of the log")
	}
	for line := range strings.SplitSeq(logged[1], "\n  ") {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d  \S+`).MatchString(line) {
			t.Errorf("docs/cli.md shows a line that is not in the log: %s", line)
		}
	}
}

// TestCommandsInTheDocs: what the pages tell people to type are valid command lines.
func TestCommandsInTheDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	typed := 0
	for _, page := range append(pages, filepath.Join("..", "..", "README.md"), filepath.Join("..", "..", "CONTRIBUTING.md")) {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if command, is := strings.CutPrefix(strings.TrimSpace(line), "$ "); is {
				typed++
				checkExample(t, strings.TrimSuffix(command, " &"))
			}
		}
	}
	if typed < 30 {
		t.Errorf("%d command lines were found", typed)
	}
}
