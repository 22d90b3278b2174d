package events

import "github.com/holdfastdev/holdfast/server/internal/api"

// Register registers the operations.
func Register(a *api.API, c Config) {
	s := &streams{Config: c, api: a, readers: readers{total: c.Total, each: c.Each, by: map[string]int{}}}
	registerFeed(a, s)
	registerSwitch(a)
	registerJob(a, s)
}
