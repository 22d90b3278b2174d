package holdfast

import (
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/engine"
)

func init() { //nolint:gochecknoinits // a door that is always there
	access.Runner = func(client any) *engine.Runner {
		c := client.(*Client) //nolint:errcheck // what else would it be
		return c.engine.Runner(c.namespace)
	}
}
