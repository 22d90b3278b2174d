// Package gating decides in claims which jobs run that count in limits per key, and looks now and
// then for jobs that wait at gates which are free. Where jobs wait, and how those go on whose gate
// becomes free, is in core.
//
// Of ours, it imports store, store/internal/gates and core.
package gating
