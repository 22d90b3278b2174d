package holdfast

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

var update = flag.Bool("update", false, "write testdata")

// vectorsFile has enqueues and what becomes of them. Go and SQL must agree with it, and whatever
// else enqueues jobs may be tested with it.
const vectorsFile = "testdata/enqueue.json"

// vector is an enqueue, and its error, or what is made of it.
type vector struct {
	Name    string  `json:"name"`
	Enqueue enqCall `json:"enqueue"`
	// Error is that of Go and, if SQLError is empty, that of SQL, where some things have other
	// names. The id of a job in it is <id>.
	Error    string `json:"error,omitempty"`
	SQLError string `json:"sql_error,omitempty"`
	// Options are the settings that are stored as JSON.
	Options string `json:"options,omitempty"`
	// Key is the unique key in hexadecimal digits, States the set of states in which it is held.
	Key    string `json:"key,omitempty"`
	States int    `json:"states,omitempty"`
}

// enqCall is an enqueue in the words of the SQL function. Payloads are texts, which nothing changes
// on the way, and durations are as Go writes them.
type enqCall struct {
	Kind         string     `json:"kind"`
	Args         *string    `json:"args,omitempty"`
	Namespace    *string    `json:"namespace,omitempty"`
	Queue        *string    `json:"queue,omitempty"`
	Priority     *int       `json:"priority,omitempty"`
	RunAt        *time.Time `json:"run_at,omitempty"`
	Delay        *string    `json:"delay,omitempty"`
	MaxAttempts  *int       `json:"max_attempts,omitempty"`
	Timeout      *string    `json:"timeout,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
	Backoff      *string    `json:"backoff,omitempty"`
	BackoffLimit *string    `json:"backoff_limit,omitempty"`
	Tags         []string   `json:"tags,omitempty"`
	Metadata     *string    `json:"metadata,omitempty"`
	OrderingKey  *string    `json:"ordering_key,omitempty"`
	UniqueBy     []string   `json:"unique_by,omitempty"`
	UniqueFields []string   `json:"unique_fields,omitzero"`
	UniquePeriod *string    `json:"unique_period,omitempty"`
	UniqueKey    *string    `json:"unique_key,omitempty"`
	UniqueWhile  []string   `json:"unique_while,omitempty"`
	OnConflict   *string    `json:"on_conflict,omitempty"`
	JobID        *ID        `json:"job_id,omitempty"`
	Key          *string    `json:"key,omitempty"`
	KeepKey      *string    `json:"keep_key,omitempty"`
}

func (e *enqCall) String() string {
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// options are the call's options, in the order in which SQL checks them.
func (e *enqCall) options() []EnqueueOption {
	var opts []EnqueueOption
	add := func(given bool, opt func() EnqueueOption) {
		if given {
			opts = append(opts, opt())
		}
	}
	add(e.Queue != nil, func() EnqueueOption { return Queue(*e.Queue) })
	add(e.Priority != nil, func() EnqueueOption { return Priority(*e.Priority) })
	add(e.RunAt != nil, func() EnqueueOption { return RunAt(*e.RunAt) })
	add(e.Delay != nil, func() EnqueueOption { return Delay(lengthOf(e.Delay)) })
	add(e.MaxAttempts != nil, func() EnqueueOption { return MaxAttempts(*e.MaxAttempts) })
	add(e.Timeout != nil, func() EnqueueOption { return Timeout(lengthOf(e.Timeout)) })
	add(e.Backoff != nil, func() EnqueueOption { return Backoff(lengthOf(e.Backoff), lengthOf(e.BackoffLimit)) })
	add(e.Deadline != nil, func() EnqueueOption { return Deadline(*e.Deadline) })
	add(e.Tags != nil, func() EnqueueOption { return Tags(e.Tags...) })
	add(e.Metadata != nil, func() EnqueueOption { return Metadata(json.RawMessage(*e.Metadata)) })
	add(e.OrderingKey != nil, func() EnqueueOption { return OrderingKey(*e.OrderingKey) })
	add(e.Key != nil, func() EnqueueOption { return Key(*e.Key) })
	add(e.KeepKey != nil, func() EnqueueOption { return KeepKey(lengthOf(e.KeepKey)) })
	add(e.isUnique(), func() EnqueueOption { return e.unique() })
	add(e.JobID != nil, func() EnqueueOption { return JobID(*e.JobID) })
	return opts
}

func (e *enqCall) isUnique() bool {
	return e.UniqueBy != nil || e.UniqueFields != nil || e.UniquePeriod != nil || e.UniqueKey != nil || e.UniqueWhile != nil
}

func (e *enqCall) unique() Unique {
	u := Unique{
		ByArgs: slices.Contains(e.UniqueBy, "args"), ByQueue: slices.Contains(e.UniqueBy, "queue"),
		ByFields: e.UniqueFields, ByPeriod: lengthOf(e.UniquePeriod),
	}
	if e.UniqueKey != nil {
		u.ByKey = *e.UniqueKey
	}
	for _, name := range e.UniqueWhile {
		state, err := store.ParseState(name)
		if err != nil {
			panic(err)
		}
		u.While = append(u.While, state)
	}
	if e.OnConflict != nil {
		u.OnConflict = map[string]store.OnConflict{
			"return": store.ReturnExisting, "reject": store.Reject, "replace": store.Replace,
		}[*e.OnConflict]
	}
	return u
}

func lengthOf(text *string) time.Duration {
	if text == nil {
		return 0
	}
	d, err := time.ParseDuration(*text)
	if err != nil {
		panic(err)
	}
	return d
}

// build makes the enqueue as the library does, and checks it as stores do.
func (e *enqCall) build(c *Client) (*store.Enqueue, error) {
	if e.Namespace != nil {
		var err error
		if c, err = c.In(*e.Namespace); err != nil {
			return nil, err
		}
	}
	if err := checkKind(e.Kind); err != nil {
		return nil, err
	}
	args := "null"
	if e.Args != nil {
		args = *e.Args
	}
	spec, err := c.build(e.Kind, []byte(args), nil, e.options())
	if err != nil {
		return nil, err
	}
	return &spec.enqueue, spec.enqueue.Job.Check()
}

// plainError is the text of an error without what only the one side says, and without ids of jobs.
func plainError(text, id string) string {
	if at := strings.Index(text, "holdfast: "); at > 0 {
		text = text[at:]
	}
	return strings.ReplaceAll(text, id, "<id>")
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// inMemory is a source without a database.
type inMemory struct{}

func (inMemory) Open(context.Context) (store.Store, error)     { return model.New(time.Now), nil }
func (inMemory) Migrate(context.Context) (store.Schema, error) { return store.Schema{}, nil }
func (inMemory) Schema(context.Context) (store.Schema, error)  { return store.Schema{}, nil }
func (inMemory) Migrations() []store.Migration                 { return nil }
func (inMemory) String() string                                { return "memory" }

// largeVectors are too large for the file.
func largeVectors() []vector {
	of := func(name string, args, metadata *string) vector {
		return vector{Name: name, Enqueue: enqCall{Kind: "send", Args: args, Metadata: metadata}}
	}
	text := func(size int) *string { return new(`"` + strings.Repeat("x", size-2) + `"`) }
	object := func(size int) *string { return new(`{"a":"` + strings.Repeat("x", size-8) + `"}`) }
	nested := func(depth int) *string { return new(strings.Repeat("[", depth) + strings.Repeat("]", depth)) }
	return []vector{
		of("args: as large as can be", text(MaxPayload), nil),
		of("args: too large", text(MaxPayload+1), nil),
		of("args: too large in bytes", new(strings.ReplaceAll(*text(MaxPayload/2 + 1), "x", "ä")), nil),
		of("args: as deep as can be", nested(valid.MaxNesting), nil),
		of("args: too deep", nested(valid.MaxNesting+1), nil),
		of("args: too deep, in objects", new(strings.Repeat(`{"a":[`, 101)+strings.Repeat("]}", 101)), nil),
		of("args: as deep as Go reads", nested(10_000), nil),
		of("args: deeper than Go reads", nested(10_001), nil),
		of("args: far too deep", nested(400_000), nil),
		of("args: wide", new("["+strings.Repeat("[],", 20_000)+"[]]"), nil),
		of("args: brackets in strings are no depth", new(`["`+strings.Repeat("[", 10_001)+`","\\\"[",{}]`), nil),
		of("metadata: as large as can be", nil, object(valid.MaxMetadata)),
		of("metadata: too large", nil, object(valid.MaxMetadata+1)),
	}
}

// TestVectors holds the library against the vectors; with -update it writes what they expect.
func TestVectors(t *testing.T) {
	t.Parallel()
	c, err := Open(t.Context(), inMemory{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	vectors := readVectors(t)
	for i, want := range vectors {
		got := vector{Name: want.Name, Enqueue: want.Enqueue, SQLError: want.SQLError}
		q, err := want.Enqueue.build(c)
		if err != nil {
			id := "no id"
			if q != nil {
				id = q.Job.ID.String()
			}
			got.Error = plainError(err.Error(), id)
		} else {
			got.Key, got.States = hex.EncodeToString(q.Job.UniqueKey), int(q.Job.UniqueStates)
			if q.Job.Options != (store.Options{}) {
				text, err := json.Marshal(q.Job.Options)
				if err != nil {
					t.Fatal(err)
				}
				got.Options = string(text)
			}
		}
		if vectors[i] = got; *update {
			continue
		}
		if got.Error != want.Error || got.Key != want.Key || got.States != want.States || got.Options != want.Options {
			t.Errorf("%s:\n got %s%s %d %s\nwant %s%s %d %s", want.Name, got.Error, got.Key, got.States, got.Options,
				want.Error, want.Key, want.States, want.Options)
		}
	}
	if *update {
		writeVectors(t, vectors)
	}
	names := make([]string, len(vectors))
	for i, v := range vectors {
		names[i] = v.Name
	}
	slices.Sort(names)
	if n := len(slices.Compact(names)); n != len(vectors) {
		t.Errorf("%d vectors have %d names", len(vectors), n)
	}
}

func writeVectors(t *testing.T, vectors []vector) {
	t.Helper()
	var b strings.Builder
	for i, v := range vectors {
		var line strings.Builder
		e := json.NewEncoder(&line)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		b.WriteString(cmp.Or(map[int]string{0: "[\n"}[i], ",\n"))
		for _, unit := range utf16.Encode([]rune(strings.TrimSpace(line.String()))) {
			if unit < 0x7F {
				b.WriteByte(byte(unit))
			} else {
				fmt.Fprintf(&b, `\u%04x`, unit) // it may be invisible
			}
		}
	}
	if err := os.WriteFile(vectorsFile, []byte(b.String()+"\n]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}
