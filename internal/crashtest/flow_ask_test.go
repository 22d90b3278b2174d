package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast"
)

// question is a request to flows.
var question = holdfast.NewUpdate[key, string]("question")

// What becomes of a request, by its number.
func refuses(number int) bool { return number%4 == 3 }
func pauses(number int) bool  { return number%4 == 1 }
func fails(number int) bool   { return number%4 == 2 }

// replying is how the name of the step begins that handles a request.
const replying = "reply "

func replyName(number int) string { return fmt.Sprint(replying, number) }

// listen handles requests from now on.
func (p *player) listen(run *holdfast.Run) error {
	if !p.task.Listens {
		return nil
	}
	return question.Handle(run, func(in key) error {
		if refuses(in.Number) {
			return errPlanned
		}
		return nil
	}, func(run *holdfast.Run, in key) (string, error) { return p.reply(run, in.Number) })
}

// reply handles a request. What it answers, also as an error, is what its step remembers.
func (p *player) reply(run *holdfast.Run, number int) (string, error) {
	name := replyName(number)
	value := fmt.Sprintf("%s by lease %d", name, run.Lease().Number)
	got, err := holdfast.Step(run, name, func(ctx context.Context) (string, error) {
		return value, p.act(ctx, name, 10, value)
	})
	if err != nil {
		return "", err
	}
	p.tell(eventRemembered, name, got)
	if pauses(number) {
		if err := run.Sleep(60 * time.Millisecond); err != nil {
			return "", err
		}
	}
	if fails(number) {
		return "", errors.New(got)
	}
	return got, nil
}

// asking names a request: a number is the id of one among those of its job.
type asking struct {
	job    holdfast.ID
	number int
}

// reply is what a caller was told.
type reply struct {
	text            string
	refused, failed bool
	gone            bool // the job has ended, and does not answer
}

// call sends a request and waits for the answer. It is false if there was none, which says nothing.
func (l *flowLoad) call(ctx context.Context, to asking) (r reply, ok bool) {
	bounded, stop := context.WithTimeout(ctx, patience)
	defer stop()
	text, err := question.Call(bounded, l.clients[2], to.job, key{to.number}, holdfast.DedupKey(fmt.Sprint("question ", to.number)))
	told, isTold := errors.AsType[*holdfast.UpdateError](err)
	switch {
	case err == nil:
		return reply{text: text}, true
	case isTold:
		return reply{text: told.Message, refused: told.Refused, failed: !told.Refused}, true
	case errors.Is(err, holdfast.ErrConflict):
		return reply{gone: true}, true
	}
	l.c.allow(err)
	return reply{}, false
}

// hasAnswers reports whether a request was answered, and one was refused.
func (l *flowLoad) hasAnswers() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	answered, refused := false, false
	for to, told := range l.replies {
		has := slices.ContainsFunc(told, func(r reply) bool { return !r.gone })
		answered, refused = answered || has && !refuses(to.number), refused || has && refuses(to.number)
	}
	return answered && refused
}

// mostAsked is how many requests a job is sent, each again and again, and mostAtOnce how many wait
// for their answers.
const (
	mostAsked  = 8
	mostAtOnce = 24
)

// keepAsking sends requests to flows that listen until ctx ends.
func (l *flowLoad) keepAsking(ctx context.Context, random *rand.Rand) {
	var calls sync.WaitGroup
	defer calls.Wait()
	free := make(chan struct{}, mostAtOnce)
	for spend(ctx, 50*time.Millisecond) == nil {
		for _, id := range l.listening(ctx) {
			if random.IntN(8) > 0 {
				continue
			}
			to := asking{id, random.IntN(mostAsked)}
			for range 1 + random.IntN(2) {
				select {
				case free <- struct{}{}:
				default:
					continue
				}
				calls.Go(func() {
					defer func() { <-free }()
					if r, ok := l.call(ctx, to); ok {
						l.mu.Lock()
						defer l.mu.Unlock()
						l.replies[to] = append(l.replies[to], r)
					}
				})
			}
		}
	}
}

// listening are the unfinished jobs that handle requests.
func (l *flowLoad) listening(ctx context.Context) (ids []holdfast.ID) {
	page, err := l.clients[2].List(ctx, unfinished, "", 200)
	if err != nil {
		l.c.allow(err)
		return nil
	}
	for _, r := range page.Jobs {
		var t task
		if err := json.Unmarshal(r.Args, &t); err == nil && t.Listens && strings.Contains(r.Kind, flowKind.Name()) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// askAgain sends all requests once more when everything has ended, and returns what their callers
// are told then.
func (l *flowLoad) askAgain(ctx context.Context) map[asking]reply {
	last := map[asking]reply{}
	for to := range l.replies {
		l.c.insist(func() error {
			r, ok := l.call(ctx, to)
			if last[to] = r; !ok {
				return holdfast.ErrUnavailable
			}
			return nil
		})
	}
	return last
}
