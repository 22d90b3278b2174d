package api

import "github.com/holdfastdev/holdfast/server/internal/problem"

// NeedsAll refuses a call about what belongs to the whole database to those who have only some of
// its namespaces. what names it.
func (c *Call) NeedsAll(what string) error {
	if c.Principal.Namespaces == nil {
		return nil
	}
	return problem.New(problem.Forbidden, what+" belongs to all namespaces of the database; use a key that has them all")
}
