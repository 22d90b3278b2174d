package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// given is a source for a store that is open already.
type given struct {
	store.Source
	store.Store
}

func (g given) String() string { return "given" }

func (g given) Open(context.Context) (store.Store, error) { return g.Store, nil }

// TestAListThatBreaksOff: the database goes away before or after the first page.
func TestAListThatBreaksOff(t *testing.T) {
	t.Parallel()
	const jobs = app.MaxPage + 5
	s := faults.Wrap(model.New(time.Now), nil)
	client, err := holdfast.Open(t.Context(), given{Store: s}, holdfast.WithLogger(app.Silent()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close(context.WithoutCancel(t.Context())) }()
	if _, err := holdfast.NewKind[int, int]("k").EnqueueMany(t.Context(), client, make([]int, jobs)); err != nil {
		t.Fatal(err)
	}
	for _, pages := range []int{0, 1} {
		for _, format := range []string{output.FormatJSON, output.FormatLines, output.FormatTable, output.FormatYAML} {
			s.Plan(faults.Script(map[string][]faults.Fault{"List": append(make([]faults.Fault, pages), faults.Fault{Kind: faults.FailBefore})}))
			var stdout bytes.Buffer
			a := verbs{app.New(app.Env{Stdout: &stdout, Stderr: io.Discard, Now: time.Now, Terminal: func(any) bool { return false }})}
			a.Asked = format
			err := a.listJobs(t.Context(), client, a.NewList(views.JobHeader...), listing{most: 0})
			if err := a.Flush(); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(err, holdfast.ErrUnavailable) {
				t.Errorf("%s, %d pages: %v", format, pages, err)
			}
			text := stdout.String()
			if n := strings.Count(text, store.Available.String()); n != pages*app.MaxPage {
				t.Errorf("%s: %d jobs of %d pages are written", format, n, pages)
			}
			if format == output.FormatJSON && json.Valid([]byte(text)) ||
				format == output.FormatYAML && !strings.HasSuffix(text, "\n[\n") && text != "[\n" {
				t.Errorf("%s: %d pages are taken for the whole", format, pages)
			}
			if text != "" && !strings.HasSuffix(text, "\n") {
				t.Errorf("%s: it ends within a line: %q", format, text[max(0, len(text)-20):])
			}
		}
	}
}
