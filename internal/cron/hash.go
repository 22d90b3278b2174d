package cron

import (
	"math/bits"
	"time"
)

// Jitter is by how much the fire of a schedule at a nominal time is put off: at least 0, less than
// most, on whole microseconds, and the same on every node. Different schedules, and different times
// of one, are spread evenly.
func Jitter(schedule string, nominal time.Time, most time.Duration) time.Duration {
	if most < time.Microsecond {
		return 0
	}
	h := hash(schedule, jitterSalt^uint64(nominal.UnixMicro()))
	return time.Duration(below(h, uint64(most/time.Microsecond))) * time.Microsecond
}

// jitterSalt keeps jitter apart from the spread of H, which is salted with small numbers.
const jitterSalt = 0x6a69_7474_6572_0000

// hash is FNV-1a of a name, and the finalizer of MurmurHash3 over that and a salt. What it returns
// is in the times of schedules, so it never changes.
func hash(name string, salt uint64) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	h ^= salt * 0x9e37_79b9_7f4a_7c15
	h = (h ^ h>>33) * 0xff51_afd7_ed55_8ccd
	h = (h ^ h>>33) * 0xc4ce_b9fe_1a85_ec53
	return h ^ h>>33
}

// below maps a hash to 0 … n-1.
func below(h, n uint64) uint64 {
	high, _ := bits.Mul64(h, n)
	return high
}
