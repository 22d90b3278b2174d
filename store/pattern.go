package store

import (
	"fmt"
	"slices"
	"strings"
)

// Of the queues that a node serves (NodeInfo.Queues) one whose name ends with "*" is a pattern: it
// is all queues whose names begin with what is before that. A queue with a name of its own there
// is served as that, and else as the longest pattern that it matches. So no queue has such a name.

// QueuePrefix returns what the names of the queues of a pattern begin with, and whether it is one.
func QueuePrefix(pattern string) (prefix string, isPattern bool) {
	return strings.CutSuffix(pattern, "*")
}

// CheckQueueName reports that a queue would have the name of a pattern, an ErrInvalid. It is for
// what gives a queue its name, or settings; what is there already can be looked at and ended.
func CheckQueueName(queue string) error {
	if _, is := QueuePrefix(queue); is {
		return fmt.Errorf("%w: %.60q is a pattern, as nodes serve queues by; name one queue", ErrInvalid, queue)
	}
	return nil
}

// ServedAs returns as which of the names and patterns that a node serves it serves a queue, and
// whether it does. Without any it serves all queues, as "".
func ServedAs(served []string, queue string) (name string, ok bool) {
	if len(served) == 0 {
		return "", true
	}
	if slices.Contains(served, queue) {
		return queue, true
	}
	for _, s := range served {
		if prefix, is := QueuePrefix(s); is && strings.HasPrefix(queue, prefix) && len(s) > len(name) {
			name, ok = s, true
		}
	}
	return name, ok
}
