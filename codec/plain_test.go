package codec_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/batch"
	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// marker is in every payload of the story.
const marker = "MARKER-of-a-payload"

// TestNothingIsPlain: of a story in which every sort of payload is written nothing is found in the
// database, neither as text nor in the encodings that databases use. Without a codec it is found,
// so that the test looks in the right places.
func TestNothingIsPlain(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) (url string, content func() []byte){
		"sqlite": fileOf, "postgres": serverOf,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sealed := range []bool{true, false} {
				url, content := database(t)
				source, err := dsn.Parse(url)
				if err != nil {
					t.Fatal(err)
				}
				var opts []holdfast.Option
				if sealed {
					opts = append(opts, codec.With(aes(t, keysOf(t, "k1")...)))
				}
				story(t, source, opts...)
				found := findings(content())
				switch {
				case sealed && len(found) > 0:
					t.Errorf("in the database is %q", found)
				case !sealed && len(found) < 2:
					t.Errorf("without a codec the database should have payloads; found %q", found)
				}
			}
		})
	}
}

// fileOf is a SQLite database and what its files contain.
func fileOf(t *testing.T) (string, func() []byte) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	return path, func() (all []byte) {
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			all = append(all, data...)
		}
		return all
	}
}

// serverOf is a PostgreSQL database and what all its tables contain.
func serverOf(t *testing.T) (string, func() []byte) {
	url := ready.Database(t)
	return url, func() (all []byte) {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		var tables []string
		err = conn.QueryRow(t.Context(), `SELECT array_agg(format('%I.%I', schemaname, tablename)) FROM pg_tables
			WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(&tables)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range tables {
			var text *string
			if err := conn.QueryRow(t.Context(), "SELECT string_agg(to_jsonb(r)::text, E'\n') FROM "+table+" r").Scan(&text); err != nil {
				t.Fatal(err)
			}
			if text != nil {
				all = append(all, *text...)
			}
		}
		return all
	}
}

// findings are those forms of the marker that the content has.
func findings(content []byte) (found []string) {
	forms := []string{marker, hex.EncodeToString([]byte(marker))}
	for shift := range 3 { // base64 at any offset, without the ends that depend on what is beside it
		text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), marker...))
		forms = append(forms, text[4:len(text)-4], hex.EncodeToString([]byte(text[4:len(text)-4])))
	}
	for _, form := range forms {
		if bytes.Contains(content, []byte(form)) {
			found = append(found, form)
		}
	}
	return found
}

// said is a payload.
func said(what string) string { return marker + " " + what }

// story writes every sort of payload, and checks that each is read as it was written.
func story(t *testing.T, source store.Source, opts ...holdfast.Option) {
	t.Helper()
	hf := open(t, source, opts...)
	ctx := t.Context()
	child := holdfast.NewKind[string, string]("child")
	parent := holdfast.NewKind[string, string]("parent")
	again := holdfast.NewKind[int, string]("again")
	plain := holdfast.NewKind[string, string]("plain")
	signal, update := holdfast.NewSignal[string]("s"), holdfast.NewUpdate[string, string]("u")
	tokens := make(chan string, 1)
	handle(t, child.Handle(hf, func(_ *holdfast.Run, in string) (string, error) { return said("of the child of " + in), nil }))
	handle(t, parent.Handle(hf, func(run *holdfast.Run, in string) (string, error) {
		return everything(run, in, child, signal, update, tokens)
	}))
	handle(t, again.Handle(hf, func(run *holdfast.Run, n int) (string, error) {
		if n == 0 {
			return said("again"), holdfast.Do(run, "s", func(context.Context) error { return nil })
		}
		return "", again.ContinueAsNew(n - 1)
	}))
	handle(t, plain.Handle(hf, func(run *holdfast.Run, in string) (string, error) {
		run.Logger(nil).Info(said("logged"), "attr", said("attr")) //nolint:sloglint // what is logged is the point
		return in, run.SaveCheckpoint(said("checkpoint"))
	}))
	start(t, hf)
	job, err := parent.Enqueue(ctx, hf, said("args"), after.End(plain.Item(said("follow-up"))), holdfast.Key("order-1"))
	handle(t, err)
	if twice, err := parent.Enqueue(ctx, hf, said("args"), holdfast.Key("order-1")); err != nil || !twice.Existing || twice.Differs {
		t.Errorf("enqueued twice: %+v, %v", twice, err)
	}
	if other, err := parent.Enqueue(ctx, hf, said("others"), holdfast.Key("order-1")); err != nil || !other.Differs {
		t.Errorf("enqueued with other args: %+v, %v", other, err)
	}
	_, err = signal.Send(ctx, hf, job.ID, said("signal"))
	handle(t, err)
	handle(t, hf.CompleteCallback(ctx, <-tokens, said("answer")))
	if answer, err := update.Call(ctx, hf, job.ID, said("request")); err != nil || answer != said("request")+"!" {
		t.Errorf("the update: %q, %v", answer, err)
	}
	result, err := job.Wait(ctx)
	if want := strings.Join([]string{said("args"), said("signal"), said("answer"), said("of the child of x")}, ","); err != nil ||
		result != want {
		t.Errorf("the result is %q, want %q: %v", result, want, err)
	}
	if item, ok, err := hf.Published(ctx, job.ID, "key"); err != nil || !ok || !bytes.Contains(item.Value, []byte(marker)) {
		t.Errorf("published: %+v, %t, %v", item, ok, err)
	}
	continued, err := again.Enqueue(ctx, hf, 2)
	handle(t, err)
	if got, err := continued.Wait(ctx); err != nil || got != said("again") {
		t.Errorf("continued: %q, %v", got, err)
	}
	manyWays(t, hf, plain)
}

// everything is a durable function with all that it can do with values.
func everything(
	run *holdfast.Run, in string, child holdfast.Kind[string, string], signal holdfast.Signal[string],
	update holdfast.Update[string, string], tokens chan<- string,
) (string, error) {
	asked := false
	err := update.Handle(run, nil, func(_ *holdfast.Run, in string) (string, error) { asked = true; return in + "!", nil })
	if err != nil {
		return "", err
	}
	if _, err := holdfast.Step(run, "step", func(context.Context) (string, error) { return said("step"), nil }); err != nil {
		return "", err
	}
	if err := errors.Join(run.Publish("key", said("published")), run.Append("stream", said("streamed"))); err != nil {
		return "", err
	}
	callback, err := run.Callback("c")
	if err != nil {
		return "", err
	}
	select {
	case tokens <- callback.Token:
	default: // a replay
	}
	sent, err := signal.Wait(run)
	if err != nil {
		return "", err
	}
	var answer string
	if err := callback.Wait(run, &answer); err != nil {
		return "", err
	}
	out, err := child.Call(run, "x")
	if err != nil {
		return "", err
	}
	if err := run.WaitUntil("the update", func() bool { return asked }); err != nil {
		return "", err
	}
	return strings.Join([]string{in, sent, answer, out}, ","), nil
}

// manyWays enqueues plain jobs in all other ways, and edits one.
func manyWays(t *testing.T, hf *holdfast.Client, plain holdfast.Kind[string, string]) {
	t.Helper()
	ctx := t.Context()
	nightly := schedule.New("nightly", schedule.Every(time.Hour), plain.Item(said("schedule")))
	_, err := schedule.Sync(ctx, hf, nightly)
	handle(t, err)
	if results, err := schedule.Sync(ctx, hf, nightly); err != nil || fmt.Sprint(results[0]) != "unchanged" {
		t.Errorf("declared twice: %+v, %v", results, err)
	}
	fired, err := schedule.Trigger(ctx, hf, "nightly")
	handle(t, err)
	b, err := batch.New(ctx, hf, batch.OnEnd(plain.Item(said("batch"))))
	handle(t, err)
	_, err = b.Add(ctx, plain.Item(said("member")))
	handle(t, err)
	handle(t, b.Close(ctx))
	later, err := plain.Enqueue(ctx, hf, said("later"), holdfast.Delay(time.Hour))
	handle(t, err)
	handle(t, plain.Edit(ctx, hf, "", later.ID, said("edited")))
	if info, err := plain.Get(ctx, hf, later.ID); err != nil || info.Args != said("edited") {
		t.Errorf("edited: %+v, %v", info, err)
	}
	if got, err := plain.Job(hf, fired.Job).Wait(ctx); err != nil || got != said("schedule") {
		t.Errorf("the job of the schedule: %q, %v", got, err)
	}
	done, err := b.Wait(ctx)
	handle(t, err)
	if got, err := plain.Job(hf, done.Calls[0].ID).Wait(ctx); err != nil || got != said("batch") {
		t.Errorf("the job of the batch: %q, %v", got, err)
	}
}

func handle(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
