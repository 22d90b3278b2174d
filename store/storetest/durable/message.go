package durable

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var messageTests = env.Tests{
	"NoLoss_messages_are_kept_in_the_order_in_which_they_came": messageRead,
	"a_key_makes_a_repeated_send_do_nothing":                   messageKeys,
	"a_key_is_looked_at_before_everything_else":                messageKeyFirst,
	"a_callback_takes_messages_once_it_is_opened":              messageCallbackOpened,
	"a_callback_has_one_end":                                   messageCallbackEnds,
	"a_message_that_is_no_message_is_invalid":                  messageInvalid,
	"sends_of_a_batch_stand_on_their_own":                      messageBatch,
	"messages_are_read_in_pages":                               messagePages,
	"NoLoss_a_message_keeps_the_trace_in_which_it_was_sent":    messageTrace,
}

func messageRead(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	sent := []store.Message{
		{Kind: store.MessageSignal, Name: "approved", Data: []byte("\x00\xff any bytes"), Codec: 7},
		{Kind: store.MessageSignal, Name: "approved"},
		{Kind: store.MessageHeartbeat, Name: "token", Data: []byte(`0.5`)},
		{Kind: store.MessageCallbackFailed, Name: "token", Data: []byte(`{"code":1}`), Error: "it broke"},
	}
	var want []store.Message
	for i, message := range sent {
		// The store sets the number and the time, whatever the caller says.
		claims := message
		claims.Seq, claims.At = 77, env.Start.Add(-time.Hour)
		result := e.Send(run.Job.ID, claims)
		if result != (store.SendResult{Seq: int64(i + 1)}) {
			e.Fatalf("send %d: %+v", i, result)
		}
		message.Seq, message.At = int64(i+1), e.Clock.Now()
		want = append(want, message)
		e.Clock.Advance(time.Second)
	}
	e.Equal("messages", e.Messages(run.Job.ID), want)
	if n := e.Get(run.Job.ID).Messages; n != 4 {
		e.Fatalf("the record tells of %d messages", n)
	}
	e.End(run, store.Completed)
	e.Equal("messages of the finished job", e.Messages(run.Job.ID), want)
}

// messageTrace: a message keeps its traceparent, through ContinueAsNew and in a fork as well.
func messageTrace(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	e.Send(run.Job.ID, env.Traced(env.Signal("received")))
	e.Send(run.Job.ID, env.Signal("without"))
	e.Send(run.Job.ID, env.Traced(env.Callback(store.MessageCallback, "token")))
	e.Send(run.Job.ID, env.Traced(env.Signal("later")))
	parents := func(id store.ID) (all []string) {
		for _, m := range e.Messages(id) {
			all = append(all, m.Name+" "+m.TraceParent)
		}
		return all
	}
	want := []string{"received " + env.TraceParent, "without ", "token " + env.TraceParent, "later " + env.TraceParent}
	e.Equal("messages", parents(run.Job.ID), want)
	var loaded []string
	for _, m := range e.Journal(run.Job.ID).Messages {
		loaded = append(loaded, m.Name+" "+m.TraceParent)
	}
	e.Equal("messages with the journal", loaded, want)

	received := env.Entry(3, store.EntryReceived, "received")
	received.Ref = 1
	e.Write(&run, received)
	e.End(run, store.Available, env.AsNew(`{"round":2}`))
	e.Equal("messages after it has continued as new", parents(run.Job.ID), []string{"without ", "later " + env.TraceParent})

	for what, m := range map[string]store.Message{
		"a traceparent that is too long":  {Kind: store.MessageSignal, TraceParent: strings.Repeat("0", store.MaxTraceParent+1)},
		"a traceparent that is no header": {Kind: store.MessageSignal, TraceParent: "00\n"},
		"the traceparent of an update":    {Kind: store.MessageUpdate, TraceParent: env.TraceParent},
	} {
		e.WantErr(what, e.TrySend(run.Job.ID, m, "key").Err, store.ErrInvalid)
	}
}

func messageKeys(e *env.Env) {
	a, b := e.Add(), e.Add()
	first := e.TrySend(a, env.Signal("one"), "k")
	if first.Err != nil || first.Result != (store.SendResult{Seq: 1}) {
		e.Fatalf("first send: %+v, %v", first.Result, first.Err)
	}
	e.Send(a, env.Signal("between"))
	for range 2 {
		e.Clock.Advance(time.Second)
		again := e.TrySend(a, env.Signal("another"), "k")
		if again.Err != nil || again.Result != (store.SendResult{Seq: 1, Duplicate: true}) {
			e.Fatalf("repeated send: %+v, %v", again.Result, again.Err)
		}
	}
	// Each job has its own keys, and an empty key is none.
	if q := e.TrySend(b, env.Signal("one"), "k"); q.Err != nil || q.Result != (store.SendResult{Seq: 1}) {
		e.Fatalf("send to another job: %+v, %v", q.Result, q.Err)
	}
	e.Send(b, env.Signal("one"))
	e.Send(b, env.Signal("one"))
	messages := e.Messages(a)
	if len(messages) != 2 || messages[0].Name != "one" || messages[1].Name != "between" || len(e.Messages(b)) != 3 {
		e.Fatalf("messages: %+v", messages)
	}
	// A batch may have two sends with one key.
	x := &store.Send{Job: a, Message: env.Signal("x"), Key: "x"}
	y := &store.Send{Job: a, Message: env.Signal("y"), Key: "x"}
	e.Apply(&store.Batch{Sends: []*store.Send{x, y}})
	if x.Result != (store.SendResult{Seq: 3}) || y.Result != (store.SendResult{Seq: 3, Duplicate: true}) || x.Err != nil || y.Err != nil {
		e.Fatalf("sends of a batch: %+v, %+v, %v, %v", x.Result, y.Result, x.Err, y.Err)
	}
}

func messageKeyFirst(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	ended := e.TrySend(run.Job.ID, env.Callback(store.MessageCallback, "token"), "end")
	if ended.Err != nil {
		e.Fatalf("send: %v", ended.Err)
	}
	e.End(run, store.Completed)
	for what, message := range map[string]store.Message{
		"the same one":               env.Callback(store.MessageCallback, "token"),
		"one to an unknown callback": env.Callback(store.MessageCallback, "unknown"),
	} {
		again := e.TrySend(run.Job.ID, message, "end")
		if again.Err != nil || again.Result != (store.SendResult{Seq: 1, Duplicate: true}) {
			e.Fatalf("%s, again: %+v, %v", what, again.Result, again.Err)
		}
	}
	e.WantErr("another key", e.TrySend(run.Job.ID, env.Callback(store.MessageCallback, "token"), "other").Err, store.ErrConflict)
}

func messageCallbackOpened(e *env.Env) {
	run := e.Durable(1)
	kinds := []store.MessageKind{store.MessageHeartbeat, store.MessageCallbackFailed, store.MessageCallback}
	for _, kind := range kinds {
		e.WantErr("a callback that was not opened", e.TrySend(run.Job.ID, env.Callback(kind, "token"), "").Err, store.ErrNotFound)
	}
	e.Write(&run, env.Entry(2, store.EntryStep, "token"), env.Entry(3, store.EntryCallback, "other"))
	e.WantErr("a step of that name", e.TrySend(run.Job.ID, env.Callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	e.Write(&run, env.Entry(4, store.EntryCallback, "token"))
	e.Send(run.Job.ID, env.Callback(store.MessageCallback, "token"))
	neighbour := e.Durable(1)
	e.WantErr("another job's", e.TrySend(neighbour.Job.ID, env.Callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	if messages := e.Messages(run.Job.ID); len(messages) != 1 {
		e.Fatalf("messages: %+v", messages)
	}
}

func messageCallbackEnds(e *env.Env) {
	kinds := []store.MessageKind{store.MessageHeartbeat, store.MessageCallbackFailed, store.MessageCallback}
	for _, end := range []store.MessageKind{store.MessageCallback, store.MessageCallbackFailed} {
		run := e.Durable(1)
		e.Write(&run, env.Entry(2, store.EntryCallback, "a"), env.Entry(3, store.EntryCallback, "b"))
		for range 3 {
			e.Send(run.Job.ID, env.Callback(store.MessageHeartbeat, "a"))
		}
		e.Send(run.Job.ID, env.Signal("a")) // which is no end, whatever its name is
		e.Send(run.Job.ID, env.Callback(end, "a"))
		for _, kind := range kinds {
			e.WantErr("a second end", e.TrySend(run.Job.ID, env.Callback(kind, "a"), "").Err, store.ErrConflict)
		}
		e.Send(run.Job.ID, env.Callback(store.MessageHeartbeat, "b"))
		// If a batch has two ends, the first one counts.
		x := &store.Send{Job: run.Job.ID, Message: env.Callback(store.MessageCallback, "b")}
		y := &store.Send{Job: run.Job.ID, Message: env.Callback(store.MessageCallbackFailed, "b")}
		e.Apply(&store.Batch{Sends: []*store.Send{x, y}})
		if x.Err != nil {
			e.Fatalf("the first of a batch: %v", x.Err)
		}
		e.WantErr("the second of a batch", y.Err, store.ErrConflict)
		messages := e.Messages(run.Job.ID)
		if len(messages) != 7 || messages[4].Kind != end || messages[6].Kind != store.MessageCallback {
			e.Fatalf("messages: %+v", messages)
		}
	}
}

func messageInvalid(e *env.Env) {
	run := e.Started()
	for _, kind := range []store.MessageKind{0, store.MessageChild, 99} {
		e.WantErr(fmt.Sprint("kind ", kind), e.TrySend(run.Job.ID, store.Message{Kind: kind, Name: "n"}, "").Err, store.ErrInvalid)
	}
	if messages := e.Messages(run.Job.ID); len(messages) != 0 {
		e.Fatalf("messages: %+v", messages)
	}
}

// messageBatch: many jobs, many messages, and some that cannot be, which a store may write as a
// group.
func messageBatch(e *env.Env) {
	ids := env.IDsOf(e.Many(5))
	e.Cancel(ids[3])
	batch := &store.Batch{}
	for i := range 30 {
		batch.Sends = append(batch.Sends, &store.Send{Job: ids[i%5], Message: env.Signal(fmt.Sprint("n", i))})
	}
	batch.Sends[7].Message.Kind = store.MessageChild
	batch.Sends[11].Job = e.IDs.Next()
	batch.Sends[16].Message = env.Callback(store.MessageCallback, "token")
	e.Apply(batch)
	for i, q := range batch.Sends {
		switch {
		case i == 7:
			e.WantErr("a message of no kind", q.Err, store.ErrInvalid)
		case i == 11 || i == 16:
			e.WantErr("a message to nobody", q.Err, store.ErrNotFound)
		case i%5 == 3:
			e.WantErr("a message to a finished job", q.Err, store.ErrConflict)
		case q.Err != nil:
			e.Fatalf("send %d: %v", i, q.Err)
		}
	}
	for k, want := range [][]int{{0, 5, 10, 15, 20, 25}, {1, 6, 21, 26}, {2, 12, 17, 22, 27}, {}, {4, 9, 14, 19, 24, 29}} {
		messages := e.Messages(ids[k])
		if len(messages) != len(want) {
			e.Fatalf("job %d has %d messages, want %d", k, len(messages), len(want))
		}
		for n, i := range want {
			if messages[n].Seq != int64(n+1) || messages[n].Name != fmt.Sprint("n", i) || batch.Sends[i].Result.Seq != int64(n+1) {
				e.Fatalf("message %d of job %d: %+v, %+v", n, k, messages[n], batch.Sends[i].Result)
			}
		}
	}
}

func messagePages(e *env.Env) {
	run := e.Durable(1)
	e.Write(&run, env.Entry(2, store.EntryCallback, "token"))
	child := e.Bear(&run, 1)[0]
	e.Send(run.Job.ID, env.Signal("first"))
	e.Send(run.Job.ID, store.Message{Kind: store.MessageHeartbeat, Name: "token", Data: []byte("\x00\xff"), Codec: 7})
	e.Clock.Advance(time.Second)
	e.End(e.ClaimOne(run.Lease.Node, child), store.Failed)
	e.Send(run.Job.ID, store.Message{Kind: store.MessageCallbackFailed, Name: "token", Error: "no"})
	all := e.Messages(run.Job.ID)
	for _, c := range []struct {
		after int64
		limit int
		want  []store.Message
	}{
		{0, 1000, all}, {0, 1, all[:1]}, {1, 2, all[1:3]}, {3, 2, all[3:]}, {4, 2, nil}, {99, 2, nil},
	} {
		page, err := e.Store.Messages(e.Ctx, store.InboxParams{Job: run.Job.ID, After: c.after, Limit: c.limit})
		e.NoError("Messages", err)
		e.Equal(fmt.Sprintf("%d messages after %d", c.limit, c.after), page, c.want)
	}
	for _, limit := range []int{-1, 0, 1001} {
		_, err := e.Store.Messages(e.Ctx, store.InboxParams{Job: run.Job.ID, Limit: limit})
		e.WantErr("a page without a limit", err, store.ErrInvalid)
	}
	if page, err := e.Store.Messages(e.Ctx, store.InboxParams{Job: e.IDs.Next(), Limit: 5}); err != nil || len(page) != 0 {
		e.Fatalf("messages to an unknown job: %+v, %v", page, err)
	}
}
