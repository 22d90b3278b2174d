package holdfasttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
)

// TestJournalFormat: functions, told as lists of operations, leave exactly the journals of
// internal/journal/testdata/format, and replay them. docs/journal-format.md explains these; clients
// in other languages are held to the same files.
func TestJournalFormat(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/journal/testdata/format/*.json")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			f := readFormat(t, file)
			var got holdfast.Journal
			holdfasttest.Run(t, func(env *holdfasttest.Env) { got = f.play(env) })
			if *update {
				f.Journal = &got
				f.write(t, file)
				return
			}
			if diff := cmp.Diff(plain(t, f.Journal), plain(t, &got)); diff != "" {
				t.Errorf("the journal is not that of the file (-file +here): %s", diff)
			}
			if err := holdfasttest.ReplayJournal(t, *f.Journal, f.register); err != nil {
				t.Error(err)
			}
		})
	}
}

// format is a function, and the journal that it leaves.
type format struct {
	About   string            `json:"about"`
	Args    json.RawMessage   `json:"args"`
	Signals []formatSignal    `json:"signals"`
	Does    []formatOp        `json:"does"`
	Journal *holdfast.Journal `json:"journal"`
}

type formatSignal struct {
	Name    string          `json:"name"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// formatOp is an operation of the function.
type formatOp struct {
	Op   string `json:"op"`
	Name string `json:"name,omitempty"`

	// Of a step: with which errors its attempts fail, and what the next one returns.
	Fails     any             `json:"fails,omitempty"` // of a child: true
	Attempts  int             `json:"attempts,omitempty"`
	Backoff   string          `json:"backoff,omitempty"`
	Permanent bool            `json:"permanent,omitempty"`
	Returns   json.RawMessage `json:"returns,omitempty"`

	// Of sleeps and waits.
	For      string          `json:"for,omitempty"`
	Within   string          `json:"within,omitempty"`
	Gets     json.RawMessage `json:"gets,omitempty"`
	TimesOut bool            `json:"times_out,omitempty"`

	// Of children, and signals to them.
	Kind    string          `json:"kind,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	As      string          `json:"as,omitempty"`
	Of      string          `json:"of,omitempty"`
	To      string          `json:"to,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`

	// Of what clients see, and changes.
	Key    string          `json:"key,omitempty"`
	Stream string          `json:"stream,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Is     bool            `json:"is,omitempty"`
}

func readFormat(t *testing.T, file string) *format {
	t.Helper()
	data, err := os.ReadFile(file)
	f := &format{}
	if err == nil {
		err = json.Unmarshal(data, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *format) write(t *testing.T, file string) {
	t.Helper()
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// play runs the function, and returns its journal.
func (f *format) play(env *holdfasttest.Env) holdfast.Journal {
	env.T.Helper()
	if err := f.register(env.Client); err != nil {
		env.T.Fatal(err)
	}
	made, err := anything("order").Enqueue(env.T.Context(), env.Client, f.Args)
	if err != nil {
		env.T.Fatal(err)
	}
	for _, s := range f.Signals {
		if _, err := env.Client.SendSignal(env.T.Context(), made.ID, s.Name, s.Payload); err != nil {
			env.T.Fatal(err)
		}
	}
	env.Start()
	if _, err := made.Wait(env.T.Context()); err != nil {
		env.T.Fatal(err)
	}
	return env.Journal(made.ID)
}

func anything(kind string) holdfast.Kind[json.RawMessage, json.RawMessage] {
	return holdfast.NewKind[json.RawMessage, json.RawMessage](kind)
}

// register handles the function, and the children that it starts.
func (f *format) register(c *holdfast.Client) error {
	return errors.Join(
		anything("order").Handle(c, f.run),
		anything("mail").Handle(c, func(_ *holdfast.Run, args json.RawMessage) (json.RawMessage, error) {
			if string(args) == `"fail"` {
				return nil, holdfast.Fail(errors.New("no such address"))
			}
			return args, nil
		}),
		anything("listener").Handle(c, func(run *holdfast.Run, _ json.RawMessage) (json.RawMessage, error) {
			return holdfast.NewSignal[json.RawMessage]("approved").Wait(run)
		}),
	)
}

func (f *format) run(run *holdfast.Run, _ json.RawMessage) (json.RawMessage, error) {
	started := map[string]*holdfast.Child[json.RawMessage]{}
	for i := range f.Does {
		if err := f.Does[i].do(run, started); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
	}
	return nil, nil
}

// do does one operation. An error is one of the function, which has got something unexpected.
func (op *formatOp) do(run *holdfast.Run, started map[string]*holdfast.Child[json.RawMessage]) error {
	switch op.Op {
	case "step":
		return op.step(run)
	case "sleep":
		return run.Sleep(duration(op.For))
	case "signal":
		return op.signal(run)
	case "child", "start":
		c, err := anything(op.Kind).Start(run, op.Args)
		if err != nil || op.Op == "start" {
			started[op.As] = c
			return err
		}
		return op.wait(run, c)
	case "wait":
		return op.wait(run, started[op.Of])
	case "send":
		return holdfast.NewSignal[json.RawMessage](op.Name).SendFrom(run, started[op.To].ID, op.Payload)
	case "publish":
		return run.Publish(op.Key, op.Value)
	case "append":
		return run.Append(op.Stream, op.Value)
	case "now":
		_, err := run.Now()
		return err
	case "patched":
		is, err := run.Patched(op.Name)
		if err == nil && is != op.Is {
			err = fmt.Errorf("patched is %v", is)
		}
		return err
	}
	return holdfast.Fail(errors.New("there is no operation " + op.Op))
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

func (op *formatOp) step(run *holdfast.Run) error {
	var opts []holdfast.StepOption
	if op.Attempts > 0 {
		opts = append(opts, holdfast.MaxAttempts(op.Attempts))
	}
	if op.Backoff != "" {
		opts = append(opts, holdfast.Backoff(duration(op.Backoff), duration(op.Backoff)))
	}
	fails, _ := op.Fails.([]any)
	value, err := holdfast.Step(run, op.Name, func(ctx context.Context) (json.RawMessage, error) {
		if at := holdfast.StepAttempt(ctx) - 1; at < len(fails) {
			err := errors.New(fails[at].(string)) //nolint:errcheck // the text of the file
			if op.Permanent {
				err = holdfast.Fail(err)
			}
			return nil, err
		}
		return op.Returns, nil
	}, opts...)
	failure, failed := errors.AsType[*holdfast.StepError](err)
	switch wants := op.Returns == nil; {
	case wants && (!failed || failure.Message != fails[len(fails)-1] || failure.Attempts != len(fails)):
		return fmt.Errorf("the step returns %s, %w", value, err)
	case !wants && err == nil:
		return same(op.Returns, value)
	case !wants:
		return err
	}
	return nil
}

func (op *formatOp) signal(run *holdfast.Run) error {
	var opts []holdfast.WaitOption
	if op.Within != "" {
		opts = append(opts, holdfast.WaitAtMost(duration(op.Within)))
	}
	got, err := holdfast.NewSignal[json.RawMessage](op.Name).Wait(run, opts...)
	switch {
	case op.TimesOut && errors.Is(err, holdfast.ErrWaitTimeout):
		return nil
	case err != nil || op.TimesOut:
		return fmt.Errorf("the wait returns %s, %w", got, err)
	}
	return same(op.Gets, got)
}

func (op *formatOp) wait(run *holdfast.Run, c *holdfast.Child[json.RawMessage]) error {
	got, err := c.Wait(run)
	_, ended := errors.AsType[*holdfast.JobError](err)
	switch {
	case op.Fails == true && ended:
		return nil
	case err != nil || op.Fails == true:
		return fmt.Errorf("the child returns %s, %w", got, err)
	}
	return same(op.Gets, got)
}

// same refuses other JSON. What is missing is null.
func same(want, got json.RawMessage) error {
	var a, b any
	_ = json.Unmarshal(want, &a) // what is missing is nil
	_ = json.Unmarshal(got, &b)
	if diff := cmp.Diff(a, b); diff != "" {
		return fmt.Errorf("not what the file says: %s", diff)
	}
	return nil
}

// plain is a journal as text, without what differs from one run to the next, and from one language
// to the other. Children that run side by side end in either order.
func plain(t *testing.T, j *holdfast.Journal) string {
	t.Helper()
	var text strings.Builder
	for _, e := range j.Entries {
		fmt.Fprintf(&text, "%d %s %q %q %d %s\n", e.Seq, e.Kind, e.Path, e.Name, e.Message, masked(t, e.Kind, e.Data))
	}
	var children []string
	for _, m := range j.Messages {
		says := fmt.Sprintf("%s %q %v %s\n", m.Kind, m.Name, m.State, masked(t, "", m.Data))
		if m.Kind == "child" {
			children = append(children, says)
		} else {
			fmt.Fprintf(&text, "message %d %s", m.Seq, says)
		}
	}
	slices.Sort(children)
	return text.String() + strings.Join(children, "")
}

// masked hides times, ids, and types of errors.
func masked(t *testing.T, kind string, data json.RawMessage) string {
	t.Helper()
	var v any
	if len(data) == 0 {
		return "nothing"
	} else if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	hide := func(v any) {
		if m, is := v.(map[string]any); is {
			for _, name := range []string{"id", "until", "type"} {
				if _, has := m[name].(string); has {
					m[name] = "…"
				}
			}
		}
	}
	hide(v)
	if m, is := v.(map[string]any); is {
		hide(m["failure"])
	}
	if kind == "value" {
		v = "…"
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
