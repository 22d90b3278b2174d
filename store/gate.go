package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"
)

// A limit per key bounds how many jobs run at once for each of its keys, such as each customer, and
// how many start in a time. A job names one such limit and its key in its Options. Claims count the
// leases of the key, and pass over what would be too many; so nothing is written for a key, and a
// node holds no slots of such a limit. Where the limit has a rate claims take the permits of the
// key, for which one row is kept while any are taken. While there is no limit with that name, or it
// is none per key, the job is not bounded.

// MaxLimitKey bounds the key of a job in a limit, in bytes.
const MaxLimitKey = 200

// gateMark separates a kind from the limit that its jobs count in, and that from the shard of their
// fair keys, in the name of a lane.
const gateMark = "\x1f"

// Gate is the number of the key in whose limit the job counts; 0 if it counts in none. Keys are
// told apart by it alone: two of a million share one with a probability of one in 37 million.
func (j *Job) Gate() int64 {
	if j.Options.Limit == "" {
		return 0
	}
	return GateOf(j.Namespace, j.Options.Limit, j.Options.LimitKey)
}

// GateOf is the number of a key of a limit. It is stored, and never made in another way.
func GateOf(namespace, limit, key string) int64 {
	b := make([]byte, 0, 512) // on the stack, as nearly all are shorter
	for _, part := range [...]string{namespace, limit, key} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	sum := sha256.Sum256(b)
	return int64(binary.BigEndian.Uint64(sum[:]) | 1) // never 0
}

// CheckLimitName reports why no job can count in a limit per key with this name, an ErrInvalid.
func CheckLimitName(name string) error {
	if name == "" || !isText(name) || strings.ContainsAny(name, "@"+gateMark) {
		return fmt.Errorf("%w: the name %.60q of a limit per key is empty, no text, or contains @ or a control character", ErrInvalid, name)
	}
	return nil
}

func (j *Job) checkGate() error {
	if strings.Contains(j.Kind, gateMark) {
		return fmt.Errorf("%w: job %s: the kind %.60q contains a control character", ErrInvalid, j.ID, j.Kind)
	}
	name, key := j.Options.Limit, j.Options.LimitKey
	if name == "" && key == "" {
		return nil
	}
	if key == "" || len(key) > MaxLimitKey || !isText(key) {
		return fmt.Errorf("%w: job %s: its key in the limit %.60q has no or more than %d bytes, or is no text",
			ErrInvalid, j.ID, name, MaxLimitKey)
	}
	if err := CheckLimitName(name); err != nil {
		return fmt.Errorf("%w; job %s", err, j.ID)
	}
	return nil
}
