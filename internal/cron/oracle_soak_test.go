//go:build soak

package cron

import (
	"time"
)

// readings are what the clock of a zone shows at each tick from one instant on, before another.
func readings(zone *time.Location, from, to, tick int64) (walls []int64) {
	for instant := from; instant < to; instant += tick {
		_, offset := time.Unix(instant, 0).In(zone).Zone()
		walls = append(walls, instant+int64(offset))
	}
	return walls
}
