package sealed_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/sealed"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// carries are the methods of a store whose arguments or answers have payloads.
var carries = []string{
	"AppendTx", "Apply", "Batches", "Claim", "CountBatches", "CreateBatch", "DueSchedules", "Edit", "Ended", "EnqueueTx", "Entries",
	"Finish", "FinishTx", "Fork", "Get", "GetUpdate", "Journals", "KeepLogs", "List", "Logs", "Messages", "OpenUpdates", "Resume",
	"RetryTx", "SaveSchedule", "Schedules", "SendTx",
}

// carriesNone are those that have none of the user's, although a type of theirs could, and why.
var carriesNone = map[string]string{
	"Count":   "refused with a filter by args; it answers with a number",
	"Reserve": "its entry is when a permit comes",
	"Retry":   "Keep is of RetryTx only",
}

// payloads are the fields in which a payload may be, by type; and those of bytes, or of any text
// that code keeps, which have none of the user's.
var (
	payloads = map[string]string{
		"Job.Args": "args", "ScheduledJob.Args": "args", "Continue.Args": "args", "Edit.Args": "args",
		"Record.Result": "result", "Outcome.Result": "result", "Ended.Result": "result", "End.Result": "result",
		"Entry.Data": "entry", "Message.Data": "message", "Update.Data": "update", "UpdateAnswer.Data": "answer",
		"Checkpoint.Value": "checkpoint", "Schedule.Declared": "declared", "LogChunk.Lines": "lines",
	}
	plain = map[string]string{
		"Job.Metadata": "people find jobs by it", "Edit.Metadata": "the same", "Meta.Metadata": "the same",
		"ScheduledJob.Metadata": "the same", "Match.Value": "of a filter, which is not stored", "Job.UniqueKey": "a hash",
		"Edit.UniqueKey": "a hash", "Filter.UniqueKey": "a hash", "Wait.For": "names of what a run waits for",
		"WaitInfo.For": "the same", "Continue.Data": "how often a job has continued", "Fact.Jobs": "counts", "Fact.Gauges": "measurements",
		"Limit.Declared": "limits have no payloads", "Descriptor.Data": "what code tells to people", "APIKey.Hash": "a hash",
		"KeyedRequest.Hash": "a hash", "KeyedRequest.Print": "a hash", "KeyedRequest.Owner": "random bytes",
		"KeyedRequest.Answer": "ids, states and errors",
		"Endpoint.Data":       "settings of people", "SetEndpointParams.Data": "the same",
	}
)

// TestEveryPayloadIsKnown: each method of a store is said to carry payloads or not, and each field
// of bytes that it takes or answers with is one of them or is said not to be. So none is forgotten
// that is added later.
func TestEveryPayloadIsKnown(t *testing.T) {
	for m := range reflect.TypeFor[store.Store]().Methods() {
		fields := map[string]bool{}
		for in := range m.Type.Ins() {
			fieldsOf(in, fields, map[reflect.Type]bool{})
		}
		for out := range m.Type.Outs() {
			fieldsOf(out, fields, map[reflect.Type]bool{})
		}
		found := false
		for field := range fields {
			_, isPlain := plain[field]
			switch _, is := payloads[field]; {
			case is:
				found = true
			case !isPlain:
				t.Errorf("%s has %s, of which it is not said whether it is a payload", m.Name, field)
			}
		}
		_, none := carriesNone[m.Name]
		if listed := slices.Contains(carries, m.Name); listed == none && found || listed && !found {
			t.Errorf("%s carries payloads: %t, but is listed: %t, and as an exception: %t", m.Name, found, listed, none)
		}
	}
}

// fieldsOf collects the fields of bytes in a type.
func fieldsOf(typ reflect.Type, to map[string]bool, seen map[reflect.Type]bool) {
	if seen[typ] {
		return
	}
	seen[typ] = true
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		fieldsOf(typ.Elem(), to, seen)
	case reflect.Func:
		for in := range typ.Ins() {
			fieldsOf(in, to, seen)
		}
	case reflect.Struct:
		if !strings.HasSuffix(typ.PkgPath(), "holdfast/store") {
			return
		}
		for f := range typ.Fields() {
			isBytes := f.Type.Kind() == reflect.Slice && f.Type.Elem() == reflect.TypeFor[byte]()
			switch {
			case isBytes, f.Name == "Declared":
				to[typ.Name()+"."+f.Name] = true
			default:
				fieldsOf(f.Type, to, seen)
			}
		}
	default:
	}
}

// TestEveryCarrierIsWrapped: the sealed store has a method of its own for each that carries
// payloads, and for no other but the exceptions.
func TestEveryCarrierIsWrapped(t *testing.T) {
	own := ownMethods(t)
	for m := range reflect.TypeFor[store.Store]().Methods() {
		want := slices.Contains(carries, m.Name) || m.Name == "Count"
		if slices.Contains(own, m.Name) != want {
			t.Errorf("%s: it has a method of its own: %t, want %t", m.Name, !want, want)
		}
	}
}

// ownMethods are those that the package declares.
func ownMethods(t *testing.T) (names []string) {
	t.Helper()
	for _, file := range []string{"sealed.go", "runs.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if rest, is := strings.CutPrefix(line, "func (s *Store) "); is {
				name, _, _ := strings.Cut(rest, "(")
				names = append(names, name)
			}
		}
	}
	return names
}

var _ store.Store = (*sealed.Store)(nil)

// TestPlainIsPutBack: what a caller has passed is as it was when the store has answered, also if
// that has failed, and if the codec has.
func TestPlainIsPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		codec store.Codec
		inner error
	}{
		"written": {aesOf(t, "k1"), nil}, "refused": {aesOf(t, "k1"), store.ErrUnavailable}, "not encoded": {failing{}, nil},
		"panics": {panicking{}, nil},
	} {
		inner := &recorder{err: c.inner}
		s := sealed.Wrap(inner, c.codec)
		entries := []store.Entry{{Seq: 1, Kind: store.EntryStep, Data: []byte(`"entry"`)}}
		a := &store.Append{Entries: entries, Answers: []store.UpdateAnswer{{Seq: 1, Data: []byte(`"answer"`)}}}
		q := &store.Enqueue{Job: store.Job{Args: []byte(`"args"`)}, Send: &store.Send{Message: store.Message{
			Kind: store.MessageSignal,
			Data: []byte("1"),
		}}}
		o := &store.Outcome{Result: []byte(`"result"`), Codec: 1}
		w := &store.CheckpointWrite{Checkpoint: store.Checkpoint{Value: []byte(`"checkpoint"`)}}
		batch := &store.Batch{
			Appends: []*store.Append{a}, Enqueues: []*store.Enqueue{q}, Outcomes: []*store.Outcome{o}, Checkpoints: []*store.CheckpointWrite{w},
		}
		err := s.Apply(t.Context(), batch)
		if name == "panics" && (err == nil || !strings.Contains(err.Error(), "a mistake, at ") ||
			!strings.Contains(err.Error(), "wrap_test.go:")) {
			t.Errorf("%s: %v", name, err)
		}
		if (err != nil) != (c.inner != nil || name == "not encoded" || name == "panics") || err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
		if encode, is := errors.AsType[*store.EncodeError](err); is != (name == "not encoded" || name == "panics") ||
			is && (strings.Contains(err.Error(), "database") || encode.Err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if &a.Entries[0] != &entries[0] || string(entries[0].Data) != `"entry"` || entries[0].Codec != 0 ||
			string(a.Answers[0].Data) != `"answer"` ||
			string(q.Job.Args) != `"args"` || q.Job.Codec != 0 || string(q.Send.Message.Data) != "1" || string(o.Result) != `"result"` ||
			o.Codec != 1 ||
			string(w.Checkpoint.Value) != `"checkpoint"` {
			t.Errorf("%s: the batch has changed: %+v %+v %+v %+v", name, a, q, o, w)
		}
		if (name == "not encoded" || name == "panics") && inner.applied != nil {
			t.Error("a batch was written that was not encoded")
		}
		if name == "written" && (inner.applied[0] != store.SealedCodec || inner.applied[1] != store.SealedCodec ||
			inner.applied[2] != store.SealedCodec) {
			t.Errorf("the store got the codecs %v", inner.applied)
		}
	}
}

// recorder is a store that notes the codecs of what it gets.
type recorder struct {
	store.Store

	err     error
	applied []int
}

func (r *recorder) Apply(_ context.Context, b *store.Batch) error {
	r.applied = []int{b.Appends[0].Entries[0].Codec, b.Enqueues[0].Job.Codec, b.Outcomes[0].Codec}
	return r.err
}

// failing is a codec whose service is away.
type failing struct{}

func (failing) Encode(context.Context, []*store.Payload) error { return context.DeadlineExceeded }
func (failing) Decode(context.Context, []*store.Payload) error { return context.DeadlineExceeded }

// panicking is a codec with a mistake.
type panicking struct{}

func (panicking) Encode(context.Context, []*store.Payload) error { panic("a mistake") }
func (panicking) Decode(context.Context, []*store.Payload) error { panic("a mistake") }

// TestACodecThatPanics: what it cannot read stays sealed, as if its key were missing.
func TestACodecThatPanics(t *testing.T) {
	inner := model.New(storetest.NewClock().Now)
	q := &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "a", Queue: "q", Kind: "k", Priority: 2, Args: []byte(`"plain"`),
		UniqueStates: store.SetOf(store.Scheduled, store.Available),
	}}
	if err := sealed.Wrap(inner, aesOf(t, "k1")).Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
		t.Fatal(err, q.Err)
	}
	r, err := sealed.Wrap(inner, panicking{}).Get(t.Context(), "", q.Job.ID)
	var missing *store.MissingKeyError
	if err != nil || !errors.As(store.SealError(r.Args, r.Codec), &missing) || missing.Key != "k1" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMoved: args that were moved in the database, to a job of another namespace or to a result,
// are damaged, and who passes them on stores them as they were.
func TestMoved(t *testing.T) {
	inner := model.New(storetest.NewClock().Now)
	s, ctx := sealed.Wrap(inner, aesOf(t, "k1")), t.Context()
	job := func(namespace string, args []byte, codec int) store.ID {
		q := &store.Enqueue{Job: store.Job{
			ID: uuid.Must(uuid.NewV7()), Namespace: namespace, Queue: "q", Kind: "k", Priority: 2, Args: args, Codec: codec,
			UniqueStates: store.SetOf(store.Scheduled, store.Available),
		}}
		if err := s.Apply(ctx, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil || q.Err != nil {
			t.Fatal(err, q.Err)
		}
		return q.Job.ID
	}
	raw, err := inner.Get(ctx, "", job("a", []byte(`"plain"`), 0))
	if err != nil || raw.Codec != store.SealedCodec {
		t.Fatalf("stored: %+v, %v", raw, err)
	}
	for namespace, want := range map[string]int{"a": 0, "b": store.DamagedCodec} {
		id := job(namespace, raw.Args, raw.Codec)
		moved, err := s.Get(ctx, "", id)
		if err != nil || moved.Codec != want || (want == 0) != (string(moved.Args) == `"plain"`) {
			t.Errorf("in namespace %s: %+v, %v", namespace, moved, err)
		}
		if kept, err := inner.Get(ctx, "", job(namespace, moved.Args, moved.Codec)); err != nil || kept.Codec != store.SealedCodec {
			t.Errorf("passed on: %+v, %v", kept, err)
		}
	}
}
