package store

import (
	"context"
	"time"
)

// Audits tells what people did. It is written by the transaction that does it, and not if nothing
// was changed.
type Audits interface {
	// ListAudit returns a page of what people did, newest first. One that is written while another
	// transaction commits may come to stand behind it: a reader who pages sees it when it begins
	// again. The error is ErrInvalid.
	ListAudit(ctx context.Context, params AuditParams) ([]AuditEntry, error)
}

// MostAuditText bounds AuditEntry.Before and After, in bytes.
const MostAuditText = 4 << 10

// The kinds of targets.
const (
	AuditJob       = "job"
	AuditQueue     = "queue"
	AuditLimit     = "limit"
	AuditNode      = "node"
	AuditNamespace = "namespace"
	AuditAPIKey    = "key"
	AuditEndpoint  = "endpoint"
	AuditWebhook   = "webhook"
	AuditSchedule  = "schedule"
	AuditRetention = "retention"
	AuditAttribute = "attribute"
	AuditFeed      = "feed"
	AuditKind      = "kind"
)

// AuditTarget is what was changed; that of a job is in AuditEntry.Job. Entries of old releases that
// are not of jobs have none: their details say it.
type AuditTarget struct{ Kind, Name string }

// AuditPlace is where an entry is in the order of the list. The zero one is before all.
type AuditPlace struct {
	At  time.Time
	Seq int64
}

// AuditEntry is something that a person did.
type AuditEntry struct {
	AuditPlace

	Actor     string
	Action    string
	Namespace string // "": of none, or it was not recorded
	Target    AuditTarget
	Job       ID     // zero: it was not done to a job
	Detail    string // the reason, or what was changed
	// Before and After are what was set, as JSON objects without secrets. "" is that there was
	// none, or that it is not recorded.
	Before, After string
}

// AuditParams asks for entries. What is zero is not asked for.
type AuditParams struct {
	Namespace     string
	Actor, Action string
	Target        AuditTarget // a kind, with or without a name
	Job           ID
	Since, Until  time.Time // from the one, and before the other
	After         AuditPlace
	Limit         int // 1 to 1000
}
