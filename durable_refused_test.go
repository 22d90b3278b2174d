package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

var numberSent = holdfast.NewSignal[int]("number")

// sum receives numbers until there are n, with alternating ways of receiving.
func sum(run *holdfast.Run, n int) ([]int, error) {
	var got []int
	for len(got) < n {
		var v int
		var err error
		switch len(got) % 3 {
		case 0:
			v, err = numberSent.Wait(run)
		case 1:
			_, err = holdfast.Select(run, numberSent.Into(&v))
		default:
			v, err = numberSent.Wait(run, holdfast.WaitAtMost(time.Hour))
		}
		if err != nil {
			return nil, fmt.Errorf("after %v: %w", got, err)
		}
		got = append(got, v)
	}
	return got, nil
}

// playRefused sends a run signals that do not decode, whose error the handler returns: each costs
// one attempt.
func playRefused(t *testing.T, source store.Source) {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	kind := holdfast.NewKind[int, []int]("sum")
	if err := kind.Handle(hf, sum, holdfast.Backoff(time.Millisecond, time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	job, err := kind.Enqueue(ctx, hf, 4)
	if err != nil {
		t.Fatal(err)
	}
	payloads := []string{`1`, `"two"`, `{"three":3}`, `4`, `[5]`, `6`, `7`}
	for _, payload := range payloads {
		if _, err := hf.SendSignal(ctx, job.ID, "number", json.RawMessage(payload)); err != nil {
			t.Fatal(err)
		}
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.WithoutCancel(ctx)) }()
	defer func() {
		if err := errors.Join(hf.Close(context.Background()), <-ran); err != nil {
			t.Error(err)
		}
	}()
	got, err := job.Wait(ctx)
	if err != nil || !slices.Equal(got, []int{1, 4, 6, 7}) {
		t.Fatalf("%v, %v", got, err)
	}
	record, err := job.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is lost silently: the attempts and the journal show what was refused and why.
	var told []string
	for _, a := range record.Attempts {
		told = append(told, a.Error)
	}
	want := []string{
		`after [1]: holdfast: invalid request: job {job}: cannot decode message 2 (signal "number"): into int: `,
		`after [1]: holdfast: invalid request: job {job}: cannot decode message 3 (signal "number"): into int: `,
		`after [1 4]: holdfast: invalid request: job {job}: cannot decode message 5 (signal "number"): into int: `,
	}
	if len(told) != len(want) {
		t.Fatalf("attempts: %q", told)
	}
	for i, text := range want {
		if !strings.HasPrefix(told[i], strings.ReplaceAll(text, "{job}", job.ID.String())) {
			t.Errorf("attempt %d says %q", i+1, told[i])
		}
	}
	journal, err := hf.Journal(ctx, job.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range journal.Messages {
		if bad := i == 1 || i == 2 || i == 4; m.Unread || strings.Contains(m.Problem, "into int") != bad || string(m.Data) != payloads[i] {
			t.Errorf("message %d: %+v", i+1, m)
		}
	}
}

func TestRefusedSignals(t *testing.T) {
	t.Parallel()
	t.Run("model", func(t *testing.T) {
		t.Parallel()
		playRefused(t, memorySource{model.New(time.Now)})
	})
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		playRefused(t, sqlite.File(sqlitetest.File(t)))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		playRefused(t, server(t))
	})
}

// picky is a payload that fails to decode on demand.
type picky struct{ Text string }

var pickyNow atomic.Value // of the current test: the error of decoding

func (p *picky) UnmarshalJSON(data []byte) error {
	if why, _ := pickyNow.Load().(string); why != "" {
		if strings.HasPrefix(why, "panic") {
			panic(why)
		}
		return errors.New(why)
	}
	return json.Unmarshal(data, &p.Text)
}

// TestRefusedSignalsReplay: the same error comes on every replay, even if the code can decode the
// signal by then.
func TestRefusedSignalsReplay(t *testing.T) {
	for _, why := range []string{"it has no amount", "panic of a decoder"} {
		inFlow(t, func(t *testing.T, f *flow) {
			pickyNow.Store(why)
			defer pickyNow.Store("")
			words := holdfast.NewSignal[picky]("word")
			var runs atomic.Int64
			job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
				runs.Add(1)
				_, err := words.Wait(run)
				var refused *holdfast.MessageError
				if !errors.As(err, &refused) || !errors.Is(err, holdfast.ErrInvalid) {
					return "", fmt.Errorf("not what was expected: %w", err)
				}
				if err := run.Sleep(time.Hour); err != nil {
					return "", err
				}
				next, err := words.Wait(run)
				if err != nil {
					return "", err
				}
				return fmt.Sprintf("%s %d %s; %s", refused.Signal, refused.Message, refused.Problem, next.Text), nil
			})
			if _, err := words.Send(t.Context(), f.hf, job.ID, picky{"first"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			pickyNow.Store("")
			if _, err := f.hf.SendSignal(t.Context(), job.ID, "word", json.RawMessage(`"second"`)); err != nil {
				t.Fatal(err)
			}
			want := "word 1 into holdfast_test.picky: " + why + "; second"
			if strings.HasPrefix(why, "panic") {
				want = "word 1 panic: " + why + "; second"
			}
			if got := result(f, job); got != want || runs.Load() < 2 {
				t.Errorf("%q after %d runs", got, runs.Load())
			}
			record, err := job.Get(t.Context())
			if err != nil || len(record.Attempts) != 0 {
				t.Errorf("%+v, %v", record.Attempts, err)
			}
		})
	}
}

// TestRefusedSignalsComeAgain: after a person resumes the failed job, because the cause is fixed.
func TestRefusedSignalsComeAgain(t *testing.T) {
	inFlow(t, func(t *testing.T, f *flow) {
		pickyNow.Store("not yet")
		defer pickyNow.Store("")
		words := holdfast.NewSignal[picky]("word")
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			if _, err := holdfast.Step(run, "first", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			word, err := words.Wait(run)
			return word.Text, err
		}, holdfast.MaxAttempts(2))
		for _, word := range []string{`"a"`, `"b"`} {
			if _, err := f.hf.SendSignal(t.Context(), job.ID, "word", json.RawMessage(word)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "message 2") {
			t.Fatal(err)
		}
		pickyNow.Store("")
		if results, err := f.hf.Retry(t.Context(), "", job.ID); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		if got := result(f, job); got != "a" {
			t.Error(got)
		}
	})
}

// TestRefusedSignalsElsewhere: in TryReceive, in a compensation, after continuing as new, and
// beside another failure.
func TestRefusedSignalsElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle func(run *holdfast.Run, in int) (int, error)
		failed bool
		want   string // the final journal
	}{
		"trying": {handle: func(run *holdfast.Run, _ int) (int, error) {
			if err := run.Sleep(time.Second); err != nil {
				return 0, err
			}
			n, ok, err := numberSent.TryReceive(run)
			if err == nil && !ok {
				err = errors.New("nothing")
			}
			return n, err
		}, want: "timer 1, received, received 2"},
		"in a compensation": {handle: func(run *holdfast.Run, _ int) (int, error) {
			err := run.OnFailure("undo", func(run *holdfast.Run) error {
				n, err := numberSent.Wait(run)
				if err == nil && n != 7 {
					err = fmt.Errorf("received %d", n)
				}
				return err
			})
			if err != nil {
				return 0, err
			}
			return 0, holdfast.Fail(errors.New("enough"))
		}, failed: true, want: "closing ~, received, step retry ~1, received ~1.1, compensated ~1"},
		"after a new beginning": {handle: func(run *holdfast.Run, in int) (int, error) {
			if in == 0 {
				_, err := numberSent.Wait(run)
				if !errors.Is(err, holdfast.ErrInvalid) {
					return 0, fmt.Errorf("not refused: %w", err)
				}
				return 0, continueAsNew(run, 1)
			}
			return numberSent.Wait(run)
		}, want: "continued, received 1"},
		"beside what else fails": {handle: func(run *holdfast.Run, _ int) (int, error) {
			n, err := numberSent.Wait(run)
			if err != nil {
				return 0, errors.New("something else") // an error that does not wrap the cause
			}
			return n, nil
		}, want: "received, received 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				job := begin(f, 0, c.handle)
				for _, payload := range []string{`"six"`, `7`} {
					if _, err := f.hf.SendSignal(t.Context(), job.ID, "number", json.RawMessage(payload)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := job.Wait(t.Context())
				if c.failed != (err != nil) || !c.failed && got != 7 || err != nil && strings.Contains(err.Error(), "compensation") {
					t.Errorf("%d, %v", got, err)
				}
				var kinds []string
				j, err := f.hf.Journal(t.Context(), job.ID)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range j.Entries {
					kinds = append(kinds, strings.TrimSpace(e.Kind+" "+e.Path))
				}
				if text := strings.Join(kinds, ", "); text != c.want {
					t.Errorf("the journal holds %s, not %s", text, c.want)
				}
			})
		})
	}
}

// TestAnswerThatDoesNotDecode: the one answer of a callback is received again until the code can
// decode it.
func TestAnswerThatDoesNotDecode(t *testing.T) {
	inFlow(t, func(t *testing.T, f *flow) {
		pickyNow.Store("not yet")
		defer pickyNow.Store("")
		tokens := make(chan string, 100)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			c, err := run.Callback("payment")
			if err != nil {
				return "", err
			}
			tokens <- c.Token
			var v picky
			if err := c.Wait(run, &v); err != nil {
				var wrong *holdfast.MessageError
				if !errors.As(err, &wrong) || wrong.Callback != "payment" {
					return "", holdfast.Fail(fmt.Errorf("not what was expected: %w", err))
				}
				return "", err
			}
			return v.Text, nil
		})
		if err := f.hf.CompleteCallback(t.Context(), <-tokens, "paid"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		record, err := job.Get(t.Context())
		if err != nil || record.State != store.Retryable || !strings.Contains(record.Error, `message 1 (answer to callback "payment")`) {
			t.Fatalf("%v (%s), %v", record.State, record.Error, err)
		}
		pickyNow.Store("")
		if got := result(f, job); got != "paid" {
			t.Error(got)
		}
	})
}
