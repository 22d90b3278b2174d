package faulttest

import (
	"time"
)

// What the nodes of these tests agree on: a machine that is busy beats late. What needs
// nobody's death happens soon.
const (
	clockBeat = 300 * time.Millisecond
	clockDead = 10 * time.Second
	soon      = time.Minute
)
