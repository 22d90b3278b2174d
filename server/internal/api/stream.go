package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Written is an answer that an operation writes itself, once nothing speaks against the request.
type Written func(w http.ResponseWriter, r *http.Request)

// RegisterStream registers an operation whose answer is written piece by piece. Its parameters are
// read, checked and documented like those of others. media are the types of the answer, with what
// each is. The operation is not bounded in time: what it writes ends with the request's context.
func RegisterStream[I any, PI interface {
	*I
	Namespaced
}](a *API, op Op, media map[string]string, handle func(ctx context.Context, c *Call, in PI) (Written, error)) {
	mustBeSeen(reflect.TypeFor[I]())
	o := a.operation(&op)
	content := map[string]*huma.MediaType{}
	for name, about := range media {
		content[name] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Description: about}}
	}
	o.Responses["200"] = &huma.Response{Description: "OK", Content: content}
	huma.Register(a.huma, o, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		c, err := a.call(ctx, op.Scope, PI(in).namespace())
		if err != nil {
			return nil, err
		}
		write, err := handle(ctx, c, PI(in))
		if err != nil {
			return nil, a.problem(ctx, &op, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			write(w, r)
		}}, nil
	})
}
