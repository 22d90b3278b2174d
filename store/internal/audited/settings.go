package audited

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// QueueSet is of a queue of which something else was set.
func QueueSet(p *store.SetQueueParams, was, is store.QueueAttempts) store.AuditEntry {
	e := ofSetting(p.Actor, "set", p.Namespace, store.AuditQueue, p.Queue)
	e.Detail, e.Before, e.After = p.Detail(), QueueText(was), QueueText(is)
	return e
}

// QueueText is what is set of a queue; "": nothing.
func QueueText(q store.QueueAttempts) string {
	if q.AttemptSettings == (store.AttemptSettings{}) {
		return ""
	}
	return text(q.AttemptSettings)
}

// QueuePaused is of a queue that was paused, or goes on. What goes on may have rested, or not been
// listed: of that there is no Before.
func QueuePaused(p *store.PauseParams) store.AuditEntry {
	e := ofSetting(p.Actor, "resume", p.Namespace, store.AuditQueue, p.Queue)
	if e.After = set("paused", p.Paused); p.Paused {
		e.Action, e.Before = "pause", set("paused", false)
	}
	return e
}

// QueueRested is of a queue that a person let rest.
func QueueRested(p *store.RestParams, is store.Resting) store.AuditEntry {
	e := ofSetting(p.Actor, "rest", p.Namespace, store.AuditQueue, p.Queue)
	e.Detail = is.String()
	return e
}

// LimitSaved is of a limit that was made, or was what it was before.
func LimitSaved(was, is *store.Limit, actor string) store.AuditEntry {
	e := ofSetting(actor, "create", is.Namespace, store.AuditLimit, is.Name)
	e.After = text(is.LimitSettings)
	if was != nil {
		e.Action, e.Before = "update", text(was.LimitSettings)
	}
	return e
}

// LimitDeleted is of a limit that was deleted; forced: although nodes held slots of it.
func LimitDeleted(was *store.Limit, forced bool, actor string) store.AuditEntry {
	e := ofSetting(actor, "delete", was.Namespace, store.AuditLimit, was.Name)
	e.Before = text(was.LimitSettings)
	if forced {
		e.Detail = "forced"
	}
	return e
}

// LimitDrained is of a limit of which no permits come before another time than it was.
func LimitDrained(namespace, name string, until time.Time, actor string) store.AuditEntry {
	e := ofSetting(actor, "drain", namespace, store.AuditLimit, name)
	e.After = text(map[string]any{"drained_until": until.UTC().Truncate(time.Microsecond)})
	return e
}

// LimitResumed is of a limit whose drain was taken back.
func LimitResumed(p *store.ResumeLimitParams) store.AuditEntry {
	e := ofSetting(p.Actor, "resume", p.Namespace, store.AuditLimit, p.Name)
	e.Detail = p.Detail()
	return e
}

// RetentionSet is of a class of retention that was made, or was what it was before.
func RetentionSet(was, is *store.RetentionClass) store.AuditEntry {
	e := ofSetting(is.SetBy, "create", "", store.AuditRetention, is.Name)
	e.After = retentionText(is)
	if was != nil {
		e.Action, e.Before = "update", retentionText(was)
	}
	return e
}

// RetentionDeleted is of a class of retention that was deleted.
func RetentionDeleted(was *store.RetentionClass, actor string) store.AuditEntry {
	e := ofSetting(actor, "delete", "", store.AuditRetention, was.Name)
	e.Before = retentionText(was)
	return e
}

func retentionText(c *store.RetentionClass) string {
	return text(map[string]any{"completed": keep(c.Completed), "failed": keep(c.Failed), "cancelled": keep(c.Cancelled)})
}

// AttributeDeclared is of a search attribute that was declared.
func AttributeDeclared(p *store.DeclareAttributesParams, a *store.DeclaredAttribute) store.AuditEntry {
	e := ofSetting(p.Actor, "create", p.Namespace, store.AuditAttribute, a.Name)
	e.After = text(map[string]any{"type": a.Type.String()})
	return e
}

// AttributeRemoved is of a search attribute that was removed.
func AttributeRemoved(p *store.RemoveAttributeParams, of store.AttributeType) store.AuditEntry {
	e := ofSetting(p.Actor, "delete", p.Namespace, store.AuditAttribute, p.Name)
	e.Before = text(map[string]any{"type": of.String()})
	return e
}

// FeedSet is of the feed that was switched on or off.
func FeedSet(on bool, actor string) store.AuditEntry {
	e := ofSetting(actor, "off", "", store.AuditFeed, "events")
	if on {
		e.Action = "on"
	}
	e.Before, e.After = set("on", !on), set("on", on)
	return e
}

// Forgotten is of what code told of a queue or a kind, and a person removed.
func Forgotten(d *store.Descriptor, actor string) store.AuditEntry {
	return ofSetting(actor, "forget", d.Namespace, d.Subject.String(), d.Name)
}

func ofSetting(actor, action, namespace, kind, name string) store.AuditEntry {
	return store.AuditEntry{Actor: actor, Action: action, Namespace: namespace, Target: store.AuditTarget{Kind: kind, Name: name}}
}
