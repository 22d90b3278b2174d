// Package audited says what the audit has of each change that people make, in the same words for
// every database, and what may be asked of it. It imports store only, and keeps nothing.
//
// Before and After are JSON objects of what was set. They never have a secret, its hash, the data
// of an endpoint, or a payload: of these they say at most that they are others.
package audited

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
)

// Check returns an ErrInvalid for what cannot be asked for.
func Check(p *store.AuditParams) error {
	for _, text := range []string{p.Namespace, p.Actor, p.Action, p.Target.Kind, p.Target.Name} {
		if len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %.100q is in no entry of the audit: texts are up to 1000 bytes of UTF-8 without NUL", store.ErrInvalid, text)
		}
	}
	switch {
	case p.Target.Name != "" && p.Target.Kind == "":
		return fmt.Errorf("%w: entries of the target %.200q are asked for without its kind", store.ErrInvalid, p.Target.Name)
	case p.Target.Name != "" && (p.Job != store.ID{} || p.Target.Kind == store.AuditJob):
		return fmt.Errorf("%w: entries of a job are asked for by Job, and not by the target %.200q", store.ErrInvalid, p.Target.Name)
	}
	return store.CheckLimit(p.Limit)
}

// Bounds are the microseconds from which on entries are asked for, and the place, as microseconds
// and number, behind which they are.
func Bounds(p *store.AuditParams) (since, at, seq int64) {
	since, at, seq = math.MinInt64, math.MaxInt64, math.MaxInt64
	if !p.Since.IsZero() {
		since = p.Since.UnixMicro()
	}
	if p.After != (store.AuditPlace{}) {
		at, seq = p.After.At.UnixMicro(), p.After.Seq
	}
	if !p.Until.IsZero() && p.Until.UnixMicro() <= at {
		at, seq = p.Until.UnixMicro(), 0
	}
	return since, at, seq
}

// Fits reports whether an entry is of what is asked for, but for its place.
func Fits(p *store.AuditParams, e *store.AuditEntry) bool {
	for _, of := range [][2]string{
		{p.Namespace, e.Namespace}, {p.Actor, e.Actor}, {p.Action, e.Action}, {p.Target.Kind, e.Target.Kind}, {p.Target.Name, e.Target.Name},
	} {
		if of[0] != "" && of[0] != of[1] {
			return false
		}
	}
	return p.Job == store.ID{} || p.Job == e.Job
}
