package messages

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// RegisterCallbacks registers the operations on callbacks alone, whose tokens are their
// credentials.
func RegisterCallbacks(a *api.API) {
	op := func(id, summary, about string) api.Op {
		return api.Op{
			ID: "callback-" + id, Method: http.MethodPost, Path: "/callbacks/{token}/" + id, Tag: "callbacks", MaxBody: maxBody, Public: true,
			Summary: summary, About: about + " The token is the credential: no other one is needed.",
		}
	}
	byRules := op("answer", "Answer a callback with whatever there is", `The body is any JSON. The callback's rules decide whether it completes the callback, fails
it, or is ignored; without rules it completes it. If the rules have no value for it that is refused with callback_undecided, and
the callback stays open. A callback is answered once: a second answer is a conflict.`)
	byRules.Path, byRules.MaxBody = "/callbacks/{token}", rules.MaxSent
	api.Register(a, byRules, answer)
	api.Register(a, op("complete", "Complete a callback", "Its job goes on with the payload. A callback is answered once: a second answer is a conflict."), complete)
	api.Register(a, op("fail", "Fail a callback", "Its job receives an error with the message, and decides what to do."), fail)
	api.Register(a, op("heartbeat", "Extend the time limit of a callback", "The time within which the job expects an answer starts over."), beat)
}

// OfCallback is what inputs about one callback have.
type OfCallback struct {
	api.In

	Token string `path:"token"`
}

func answered(token, what string, err error) (*api.Body[views.Answered], error) {
	if err != nil {
		return nil, problem.At("path/token", err)
	}
	return &api.Body[views.Answered]{Body: views.Answered{Token: token, Answer: what}}, nil
}

type callbackCompleteIn struct {
	OfCallback

	Body *struct {
		Payload api.Payload `json:"payload,omitempty" doc:"JSON of your own; null if it is left out"`
	}
}

func complete(ctx context.Context, c *api.Call, in *callbackCompleteIn) (*api.Body[views.Answered], error) {
	payload := api.Payload("null")
	if in.Body != nil && in.Body.Payload != nil {
		payload = in.Body.Payload
	}
	return answered(in.Token, "completed", c.Client.CompleteCallback(ctx, in.Token, payload))
}

type callbackAnswerIn struct {
	OfCallback

	Body api.Payload
}

func answer(ctx context.Context, c *api.Call, in *callbackAnswerIn) (*api.Body[views.Answered], error) {
	outcome, err := rules.Answer(ctx, c.Client, in.Token, in.Body)
	if undecided, is := errors.AsType[*rules.UndecidedError](err); is {
		return nil, problem.New(problem.Undecided, undecided.Error())
	}
	return answered(in.Token, string(outcome), err)
}

type callbackFailIn struct {
	OfCallback

	Body struct {
		Message string `json:"message" minLength:"1" doc:"What went wrong"`
	}
}

func fail(ctx context.Context, c *api.Call, in *callbackFailIn) (*api.Body[views.Answered], error) {
	return answered(in.Token, "failed", c.Client.FailCallback(ctx, in.Token, in.Body.Message))
}

func beat(ctx context.Context, c *api.Call, in *OfCallback) (*api.Body[views.Answered], error) {
	return answered(in.Token, "heartbeat", c.Client.HeartbeatCallback(ctx, in.Token))
}
