package holdfast

import (
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
)

func init() { //nolint:gochecknoinits // lets internal packages reach the engine
	access.Runner = func(client any) *engine.Runner {
		c := client.(*Client) //nolint:errcheck // always a *Client
		return c.engine.Runner(c.namespace)
	}
	access.WithTests = func(t access.Tests) any {
		return option(func(s *settings) error {
			s.engine.Rarely, s.stub = t.Rarely, t.Stub
			return nil
		})
	}
}
