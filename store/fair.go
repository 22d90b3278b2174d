package store

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// A fair key says for whom a job is, such as a tenant. Of the jobs of a queue and a priority that
// have one, those of different keys are claimed in turn: the first of each, then the second of
// each, and so on. So a key with a million jobs does not delay one with three.
//
// Keys are put into FairShards sub-lanes, and it is these that take turns: two keys that share one
// are in one line, in the order of their run times. A claim decides in two steps, which keep what
// other jobs may expect. First, how many fair jobs it takes, and in which places: of each team (a
// queue, a priority and a demand) it looks at as many as it may take, in turn, and sorts these with
// all other jobs, by effective priority and run time. Then these places are taken in turn, from the
// first shard of the turn on. So no plain job waits for a fair one that is newer; and fair ones
// with many older than all else take, of each claim, what is their share of the turn.

const (
	// FairShards is how many sub-lanes there are for fair keys. It is stored, and never changed.
	FairShards = 64
	// MaxFairKey bounds a fair key, in bytes.
	MaxFairKey = 200
)

// FairShard is the sub-lane of a fair key, 0 to FairShards-1: a hash of it, the same in all queues.
func FairShard(key string) int {
	sum := sha256.Sum256([]byte(key))
	return int(sum[0]) % FairShards
}

// fairShard is the sub-lane of the job, as the names of lanes have it, with two digits; "" if it
// has no fair key.
func (j *Job) fairShard() string {
	if j.Options.FairKey == "" {
		return ""
	}
	return fmt.Sprintf("%02d", FairShard(j.Options.FairKey))
}

// Turn is the number by which a claim takes turns: 0 to 1<<32-1, spread evenly over claims whose
// numbers grow by one, or by 1<<30, as those of polls do. Of n shards that have jobs, in order, the
// one in place Turn*n>>32 is the first of the turn. So a node that claims one job at a time comes
// to all of them, too, and nothing is written for it.
func (p *ClaimParams) Turn() int64 {
	const golden = 2_654_435_769 // 2^32 divided by the golden ratio
	return (p.Seq>>30 + p.Seq&(1<<30-1)) * golden & (1<<32 - 1)
}

func (j *Job) checkFair() error {
	key := j.Options.FairKey
	if len(key) > MaxFairKey || !isText(key) {
		return fmt.Errorf("%w: job %s: its fair key has more than %d bytes, or is no text", ErrInvalid, j.ID, MaxFairKey)
	}
	return nil
}

// LaneName is what the name of a lane says of its jobs, beside their queue and priority.
type LaneName struct {
	Kind    string
	Limit   string // the limit per key in which they count; "": none
	Shard   string // of their fair keys; "": they have none
	Version string // to which they are bound; "": to none
}

// String is the kind as stores name their lanes by it. Without a limit and a shard it is what
// ClaimParams.Kinds has.
func (n LaneName) String() string {
	kind := n.Kind
	switch {
	case n.Shard != "":
		kind += gateMark + n.Limit + gateMark + n.Shard
	case n.Limit != "":
		kind += gateMark + n.Limit
	}
	if n.Version != "" {
		kind += "@" + n.Version
	}
	return kind
}

// Claimed is the kind as claims name it.
func (n LaneName) Claimed() string { return LaneName{Kind: n.Kind, Version: n.Version}.String() }

// LaneName is what the lane of the job is called by.
func (j *Job) LaneName() LaneName {
	return LaneName{Kind: j.Kind, Limit: j.Options.Limit, Shard: j.fairShard(), Version: j.Version}
}

// ParseLaneName takes apart what LaneName.String has made.
func ParseLaneName(name string) (n LaneName) {
	n.Kind, n.Version, _ = strings.Cut(name, "@")
	n.Kind, n.Limit, _ = strings.Cut(n.Kind, gateMark)
	n.Limit, n.Shard, _ = strings.Cut(n.Limit, gateMark)
	return n
}
