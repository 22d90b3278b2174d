package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var messageTests = []test{
	{"NoLoss_messages_are_kept_in_the_order_in_which_they_came", messageRead},
	{"a_job_takes_messages_until_it_has_finished", messageStates},
	{"a_key_makes_a_repeated_send_do_nothing", messageKeys},
	{"a_key_is_looked_at_before_everything_else", messageKeyFirst},
	{"a_callback_takes_messages_once_it_is_opened", messageCallbackOpened},
	{"a_callback_has_one_end", messageCallbackEnds},
	{"a_message_that_is_no_message_is_invalid", messageInvalid},
	{"sends_of_a_batch_stand_on_their_own", messageBatch},
	{"a_text_that_the_database_cannot_hold_fails_no_send", messageHostileText},
	{"messages_stay_through_every_end_of_a_run", messageSurvives},
	{"messages_are_read_in_pages", messagePages},
}

func callback(kind store.MessageKind, token string) store.Message {
	return store.Message{Kind: kind, Name: token, Data: []byte(`1`)}
}

func messageRead(e *env) {
	run := e.durable(1)
	e.write(&run, entry(2, store.EntryCallback, "token"))
	sent := []store.Message{
		{Kind: store.MessageSignal, Name: "approved", Data: []byte("\x00\xff any bytes"), Codec: 7},
		{Kind: store.MessageSignal, Name: "approved"},
		{Kind: store.MessageHeartbeat, Name: "token", Data: []byte(`0.5`)},
		{Kind: store.MessageCallbackFailed, Name: "token", Data: []byte(`{"code":1}`), Error: "it broke"},
	}
	var want []store.Message
	for i, message := range sent {
		// What only the store knows is not taken from the caller.
		claims := message
		claims.Seq, claims.At = 77, Start.Add(-time.Hour)
		result := e.send(run.Job.ID, claims)
		if result != (store.SendResult{Seq: int64(i + 1)}) {
			e.Fatalf("send %d: %+v", i, result)
		}
		message.Seq, message.At = int64(i+1), e.clock.Now()
		want = append(want, message)
		e.clock.Advance(time.Second)
	}
	e.equal("messages", e.messages(run.Job.ID), want)
	if n := e.get(run.Job.ID).Messages; n != 4 {
		e.Fatalf("the record tells of %d messages", n)
	}
	e.end(run, store.Completed)
	e.equal("messages of the finished job", e.messages(run.Job.ID), want)
}

// messageStates: Reading: a job takes messages whether it is durable or not; what is made of them is up to its handler.
func messageStates(e *env) {
	node := e.join()
	takes := func(id store.ID, state store.State) {
		e.Helper()
		e.wantState(id, state)
		n := len(e.messages(id))
		if result := e.send(id, signal("s")); result.Seq != int64(n+1) || result.Woken || result.Duplicate {
			e.Fatalf("send to a %v job: %+v", state, result)
		}
		e.wantState(id, state)
	}
	takesNone := func(id store.ID, state store.State) {
		e.Helper()
		e.wantState(id, state)
		before := e.messages(id)
		e.wantErr("send to a "+state.String()+" job", e.trySend(id, signal("s"), "").Err, store.ErrConflict)
		e.equal("messages", e.messages(id), before)
	}
	takes(e.add(delay(time.Hour)), store.Scheduled)
	id := e.add()
	takes(id, store.Available)
	run := e.claimOne(node, id)
	takes(id, store.Running)
	e.end(run, store.Retryable)
	takes(id, store.Retryable)
	e.later(node, time.Minute)
	run = e.claimOne(node, id)
	e.write(&run, step(1))
	e.park(run, &store.Wait{Until: e.clock.Now().Add(time.Minute)})
	takes(id, store.Waiting)
	e.later(node, time.Minute)
	run = e.claimOne(node, id)
	e.end(run, store.Failed)
	takesNone(id, store.Failed)
	e.retry(id)
	takes(id, store.Available)
	e.end(e.claimOne(node, id), store.Completed)
	takesNone(id, store.Completed)
	gone := e.add()
	e.cancel(gone)
	takesNone(gone, store.Cancelled)
	e.wantErr("send to an unknown job", e.trySend(e.ids.next(), signal("s"), "k").Err, store.ErrNotFound)
}

func messageKeys(e *env) {
	a, b := e.add(), e.add()
	first := e.trySend(a, signal("one"), "k")
	if first.Err != nil || first.Result != (store.SendResult{Seq: 1}) {
		e.Fatalf("first send: %+v, %v", first.Result, first.Err)
	}
	e.send(a, signal("between"))
	for range 2 {
		e.clock.Advance(time.Second)
		again := e.trySend(a, signal("another"), "k")
		if again.Err != nil || again.Result != (store.SendResult{Seq: 1, Duplicate: true}) {
			e.Fatalf("repeated send: %+v, %v", again.Result, again.Err)
		}
	}
	// Keys are a job's own, and an empty one is none.
	if q := e.trySend(b, signal("one"), "k"); q.Err != nil || q.Result != (store.SendResult{Seq: 1}) {
		e.Fatalf("send to another job: %+v, %v", q.Result, q.Err)
	}
	e.send(b, signal("one"))
	e.send(b, signal("one"))
	messages := e.messages(a)
	if len(messages) != 2 || messages[0].Name != "one" || messages[1].Name != "between" || len(e.messages(b)) != 3 {
		e.Fatalf("messages: %+v", messages)
	}
	// In one batch, too.
	x := &store.Send{Job: a, Message: signal("x"), Key: "x"}
	y := &store.Send{Job: a, Message: signal("y"), Key: "x"}
	e.apply(&store.Batch{Sends: []*store.Send{x, y}})
	if x.Result != (store.SendResult{Seq: 3}) || y.Result != (store.SendResult{Seq: 3, Duplicate: true}) || x.Err != nil || y.Err != nil {
		e.Fatalf("sends of a batch: %+v, %+v, %v, %v", x.Result, y.Result, x.Err, y.Err)
	}
}

func messageKeyFirst(e *env) {
	run := e.durable(1)
	e.write(&run, entry(2, store.EntryCallback, "token"))
	ended := e.trySend(run.Job.ID, callback(store.MessageCallback, "token"), "end")
	if ended.Err != nil {
		e.Fatalf("send: %v", ended.Err)
	}
	e.end(run, store.Completed)
	for what, message := range map[string]store.Message{
		"the same one":               callback(store.MessageCallback, "token"),
		"one to an unknown callback": callback(store.MessageCallback, "unknown"),
	} {
		again := e.trySend(run.Job.ID, message, "end")
		if again.Err != nil || again.Result != (store.SendResult{Seq: 1, Duplicate: true}) {
			e.Fatalf("%s, again: %+v, %v", what, again.Result, again.Err)
		}
	}
	e.wantErr("another key", e.trySend(run.Job.ID, callback(store.MessageCallback, "token"), "other").Err, store.ErrConflict)
}

func messageCallbackOpened(e *env) {
	run := e.durable(1)
	kinds := []store.MessageKind{store.MessageHeartbeat, store.MessageCallbackFailed, store.MessageCallback}
	for _, kind := range kinds {
		e.wantErr("a callback that was not opened", e.trySend(run.Job.ID, callback(kind, "token"), "").Err, store.ErrNotFound)
	}
	e.write(&run, entry(2, store.EntryStep, "token"), entry(3, store.EntryCallback, "other"))
	e.wantErr("a step of that name", e.trySend(run.Job.ID, callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	e.write(&run, entry(4, store.EntryCallback, "token"))
	e.send(run.Job.ID, callback(store.MessageCallback, "token"))
	neighbour := e.durable(1)
	e.wantErr("another job's", e.trySend(neighbour.Job.ID, callback(store.MessageCallback, "token"), "").Err, store.ErrNotFound)
	if messages := e.messages(run.Job.ID); len(messages) != 1 {
		e.Fatalf("messages: %+v", messages)
	}
}

func messageCallbackEnds(e *env) {
	kinds := []store.MessageKind{store.MessageHeartbeat, store.MessageCallbackFailed, store.MessageCallback}
	for _, end := range []store.MessageKind{store.MessageCallback, store.MessageCallbackFailed} {
		run := e.durable(1)
		e.write(&run, entry(2, store.EntryCallback, "a"), entry(3, store.EntryCallback, "b"))
		for range 3 {
			e.send(run.Job.ID, callback(store.MessageHeartbeat, "a"))
		}
		e.send(run.Job.ID, signal("a")) // which is no end, whatever its name is
		e.send(run.Job.ID, callback(end, "a"))
		for _, kind := range kinds {
			e.wantErr("a second end", e.trySend(run.Job.ID, callback(kind, "a"), "").Err, store.ErrConflict)
		}
		e.send(run.Job.ID, callback(store.MessageHeartbeat, "b"))
		// Of two in a batch the first one is the end.
		x := &store.Send{Job: run.Job.ID, Message: callback(store.MessageCallback, "b")}
		y := &store.Send{Job: run.Job.ID, Message: callback(store.MessageCallbackFailed, "b")}
		e.apply(&store.Batch{Sends: []*store.Send{x, y}})
		if x.Err != nil {
			e.Fatalf("the first of a batch: %v", x.Err)
		}
		e.wantErr("the second of a batch", y.Err, store.ErrConflict)
		messages := e.messages(run.Job.ID)
		if len(messages) != 7 || messages[4].Kind != end || messages[6].Kind != store.MessageCallback {
			e.Fatalf("messages: %+v", messages)
		}
	}
}

func messageInvalid(e *env) {
	run := e.started()
	for _, kind := range []store.MessageKind{0, store.MessageChild, 99} {
		e.wantErr(fmt.Sprint("kind ", kind), e.trySend(run.Job.ID, store.Message{Kind: kind, Name: "n"}, "").Err, store.ErrInvalid)
	}
	if messages := e.messages(run.Job.ID); len(messages) != 0 {
		e.Fatalf("messages: %+v", messages)
	}
}

// messageBatch: many jobs, many messages, and some that cannot be, which a store may write as a group.
func messageBatch(e *env) {
	var ids []store.ID
	for range 5 {
		ids = append(ids, e.add())
	}
	e.cancel(ids[3])
	batch := &store.Batch{}
	for i := range 30 {
		batch.Sends = append(batch.Sends, &store.Send{Job: ids[i%5], Message: signal(fmt.Sprint("n", i))})
	}
	batch.Sends[7].Message.Kind = store.MessageChild
	batch.Sends[11].Job = e.ids.next()
	batch.Sends[16].Message = callback(store.MessageCallback, "token")
	e.apply(batch)
	for i, q := range batch.Sends {
		switch {
		case i == 7:
			e.wantErr("a message of no kind", q.Err, store.ErrInvalid)
		case i == 11 || i == 16:
			e.wantErr("a message to nobody", q.Err, store.ErrNotFound)
		case i%5 == 3:
			e.wantErr("a message to a finished job", q.Err, store.ErrConflict)
		case q.Err != nil:
			e.Fatalf("send %d: %v", i, q.Err)
		}
	}
	for k, want := range [][]int{{0, 5, 10, 15, 20, 25}, {1, 6, 21, 26}, {2, 12, 17, 22, 27}, {}, {4, 9, 14, 19, 24, 29}} {
		messages := e.messages(ids[k])
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

func messageHostileText(e *env) {
	hostile := "words\x00 and \xff\xfe" + strings.Repeat("é", 100)
	run, neighbour := e.durable(1), e.started()
	e.write(&run, entry(2, store.EntryCallback, "token"))
	failed := callback(store.MessageCallbackFailed, "token")
	failed.Error = hostile
	odd := &store.Send{Job: run.Job.ID, Message: signal(hostile)}
	a := &store.Send{Job: run.Job.ID, Message: failed}
	b := &store.Send{Job: neighbour.Job.ID, Message: signal("s")}
	e.apply(&store.Batch{Sends: []*store.Send{odd, a, b}})
	if odd.Err != nil || a.Err != nil || b.Err != nil {
		e.Fatalf("errors: %v, %v, %v", odd.Err, a.Err, b.Err)
	}
	messages := e.messages(run.Job.ID)
	if got := messages[1].Error; !strings.HasPrefix(got, "words") || !strings.HasSuffix(got, "é") {
		e.Fatalf("the error is %q", got)
	}
}

func messageSurvives(e *env) {
	run := e.durable(1)
	node := run.Lease.Node
	e.send(run.Job.ID, signal("first"))
	want := e.messages(run.Job.ID)
	for _, end := range []func(){
		func() { e.end(run, store.Retryable) },
		func() { e.end(run, store.Available) },
		func() { e.clock.Advance(deadAfter + time.Second); e.rescue(); node = e.join() },
		func() { e.leave(node); node = e.join() },
		func() { e.end(run, store.Failed); e.retry(run.Job.ID) },
	} {
		end()
		e.equal("messages", e.messages(run.Job.ID), want)
		e.later(node, time.Minute)
		run = e.claimOne(node, run.Job.ID)
	}
	if result := e.send(run.Job.ID, signal("second")); result.Seq != 2 {
		e.Fatalf("the second message: %+v", result)
	}
}

func messagePages(e *env) {
	run := e.durable(1)
	e.write(&run, entry(2, store.EntryCallback, "token"))
	child := e.bear(&run, 1)[0]
	e.send(run.Job.ID, signal("first"))
	e.send(run.Job.ID, store.Message{Kind: store.MessageHeartbeat, Name: "token", Data: []byte("\x00\xff"), Codec: 7})
	e.clock.Advance(time.Second)
	e.end(e.claimOne(run.Lease.Node, child), store.Failed)
	e.send(run.Job.ID, store.Message{Kind: store.MessageCallbackFailed, Name: "token", Error: "no"})
	all := e.messages(run.Job.ID)
	for _, c := range []struct {
		after int64
		limit int
		want  []store.Message
	}{
		{0, 1000, all}, {0, 1, all[:1]}, {1, 2, all[1:3]}, {3, 2, all[3:]}, {4, 2, nil}, {99, 2, nil},
	} {
		page, err := e.store.Messages(e.ctx, store.InboxParams{Job: run.Job.ID, After: c.after, Limit: c.limit})
		if err != nil {
			e.Fatalf("Messages: %v", err)
		}
		e.equal(fmt.Sprintf("%d messages after %d", c.limit, c.after), page, c.want)
	}
	for _, limit := range []int{-1, 0, 1001} {
		_, err := e.store.Messages(e.ctx, store.InboxParams{Job: run.Job.ID, Limit: limit})
		e.wantErr("a page without a limit", err, store.ErrInvalid)
	}
	if page, err := e.store.Messages(e.ctx, store.InboxParams{Job: e.ids.next(), Limit: 5}); err != nil || len(page) != 0 {
		e.Fatalf("messages to an unknown job: %+v, %v", page, err)
	}
}
