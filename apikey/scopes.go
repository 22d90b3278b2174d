package apikey

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Scope is something that a key may be used for.
type Scope string

// The scopes. The names are kept in databases and never change their meaning.
const (
	JobsRead        Scope = "jobs:read"        // see jobs, without payloads
	JobsWrite       Scope = "jobs:write"       // enqueue jobs, and change them
	PayloadsRead    Scope = "payloads:read"    // see args, results and what jobs remember
	QueuesRead      Scope = "queues:read"      // see queues and kinds
	QueuesWrite     Scope = "queues:write"     // pause queues, and set them
	SchedulesRead   Scope = "schedules:read"   // see schedules
	SchedulesWrite  Scope = "schedules:write"  // make schedules, and change them
	LimitsRead      Scope = "limits:read"      // see limits
	LimitsWrite     Scope = "limits:write"     // make limits, and change them
	NodesRead       Scope = "nodes:read"       // see nodes
	NodesWrite      Scope = "nodes:write"      // ask nodes to rest or to drain
	DeadRead        Scope = "dead:read"        // see groups of dead letters
	DeadWrite       Scope = "dead:write"       // retry and purge dead letters
	OperationsRead  Scope = "operations:read"  // see operations on many jobs
	OperationsWrite Scope = "operations:write" // change all jobs that a filter selects
	EndpointsRead   Scope = "endpoints:read"   // see endpoints and webhooks, without secrets
	EndpointsAdmin  Scope = "endpoints:admin"  // make endpoints and webhooks, and change them: jobs are sent where they say
	EventsRead      Scope = "events:read"      // follow changes of states
	StatsRead       Scope = "stats:read"       // see counts, gauges and metrics
	AuditRead       Scope = "audit:read"       // see what people did; admin's alone
	Workers         Scope = "workers"          // claim jobs and end them
	Exec            Scope = "exec"             // enqueue jobs that run programs on nodes
	Store           Scope = "store"            // do all that a password of the database can, as programs with store/remote do
	KeysAdmin       Scope = "keys:admin"       // create and revoke keys
	NamespacesAdmin Scope = "namespaces:admin" // create and delete namespaces
)

// Scopes are all scopes.
var Scopes = []Scope{
	JobsRead, JobsWrite, PayloadsRead, QueuesRead, QueuesWrite, SchedulesRead, SchedulesWrite, LimitsRead, LimitsWrite,
	NodesRead, NodesWrite, DeadRead, DeadWrite, OperationsRead, OperationsWrite, EndpointsRead, EventsRead, StatsRead,
	EndpointsAdmin, AuditRead, Workers, Exec, Store, KeysAdmin, NamespacesAdmin,
}

// Role is a set of scopes with a name.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // sees everything but payloads
	Operator Role = "operator" // sees payloads, too, and may change everything but keys and namespaces
	Admin    Role = "admin"    // may do everything
)

// Roles are all roles.
var Roles = []Role{Viewer, Operator, Admin}

// Scopes are those of the role; none for one that there is not.
func (r Role) Scopes() (scopes []Scope) {
	for _, s := range Scopes {
		reads, writes := strings.HasSuffix(string(s), ":read") && s != AuditRead, strings.HasSuffix(string(s), ":write")
		switch r {
		case Viewer:
			if reads && s != PayloadsRead {
				scopes = append(scopes, s)
			}
		case Operator:
			if reads || writes {
				scopes = append(scopes, s)
			}
		case Admin:
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// checkMeans returns an ErrInvalid for a role or scopes that there are not.
func checkMeans(role Role, scopes []Scope) error {
	if role != "" && !slices.Contains(Roles, role) {
		return fmt.Errorf("%w: there is no role %.100q; there are %s", store.ErrInvalid, role, joined(Roles))
	}
	for _, s := range scopes {
		if !slices.Contains(Scopes, s) {
			return fmt.Errorf("%w: there is no scope %.100q; there are %s", store.ErrInvalid, s, joined(Scopes))
		}
	}
	if role == "" && len(scopes) == 0 {
		return fmt.Errorf("%w: a key needs a role or scopes", store.ErrInvalid)
	}
	return nil
}

func joined[T ~string](words []T) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return strings.Join(texts, ", ")
}
