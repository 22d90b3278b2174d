package endpoint

import (
	"maps"
	"slices"
	"time"
)

// said is what the audit has of an endpoint or a webhook: no secrets and no values of headers, and
// of its URL not the part behind the host, which may be a secret, too.
type said struct {
	URL      string     `json:"url"`
	Headers  []string   `json:"headers,omitempty"`
	Timeout  string     `json:"timeout,omitempty"`
	Callback string     `json:"callback,omitempty"`
	Filter   *Filter    `json:"filter,omitempty"`
	Disabled string     `json:"disabled,omitempty"`
	Secrets  int        `json:"secrets"`
	Until    *time.Time `json:"old_secret_until,omitempty"`
}

// sayOf is what the audit has of what is set.
func sayOf[T Push | Webhook](set *T) string {
	var s said
	var target *Target
	var secrets []Secret
	switch set := any(set).(type) {
	case *Push:
		target, secrets, s.Callback = &set.Target, set.Secrets, length(set.Callback)
	case *Webhook:
		target, secrets, s.Disabled = &set.Target, set.Secrets, set.Disabled
		if f := set.Filter; len(f.Events)+len(f.Queues)+len(f.Kinds)+len(f.Where) > 0 {
			s.Filter = &f
		}
	}
	s.URL, s.Headers, s.Timeout = target.Site(), slices.Sorted(maps.Keys(target.Headers)), length(target.Timeout)
	for _, secret := range secrets {
		if s.Secrets++; secret.Until != nil {
			s.Until = secret.Until
		}
	}
	return string(encode(s))
}

func length(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
