package lists

import (
	"bytes"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// Bucket is the number of a range of ids: their first 44 bits, which are 16 milliseconds of the
// time in them.
type Bucket int64

// bucketBits is how many bits of an id are not in the number of its bucket.
const bucketBits = 128 - 44

// BucketOf is the bucket of an id.
func BucketOf(id store.ID) (b Bucket) {
	for _, eight := range id[:6] {
		b = b<<8 | Bucket(eight)
	}
	return b >> 4
}

// BucketAt is the bucket of the ids that are made at a time.
func BucketAt(t time.Time) Bucket { return BucketOf(idAt(t)) }

// Range are the ids of the bucket.
func (b Bucket) Range() Range {
	r := Range{Least: b.least(), Below: (b + 1).least()}
	if b+1 == 1<<(128-bucketBits) {
		r.Below = uuid.Max
	}
	return r
}

func (b Bucket) least() (id store.ID) {
	n := uint64(b) << 4
	for i := range 6 {
		id[i] = byte(n >> (40 - 8*i))
	}
	return id
}

// rangesOf are the ranges of buckets that are in an order, as far as they are within one. Buckets
// that follow each other are one range.
func rangesOf(s store.Sort, buckets []Bucket, in Range) (ranges []Range) {
	next := Bucket(1)
	if s == store.SortNewest {
		next = -1
	}
	for i := 0; i < len(buckets); {
		first := buckets[i]
		last := first
		for i < len(buckets) && (buckets[i] == last || buckets[i] == last+next) {
			last = buckets[i]
			i++
		}
		r := Range{min(first, last).Range().Least, max(first, last).Range().Below}.and(in)
		if !r.isEmpty() {
			ranges = append(ranges, r)
		}
	}
	return ranges
}

// and is what two ranges have in common.
func (r Range) and(q Range) Range {
	if bytes.Compare(r.Least[:], q.Least[:]) < 0 {
		r.Least = q.Least
	}
	if bytes.Compare(r.Below[:], q.Below[:]) > 0 {
		r.Below = q.Below
	}
	return r
}

func (r Range) isEmpty() bool { return bytes.Compare(r.Least[:], r.Below[:]) >= 0 }

// behind is what comes after a part of the range in an order by id; nothing of it is before that.
func (r Range) behind(s store.Sort, part Range) Range {
	if s == store.SortNewest {
		r.Below = part.Least
	} else {
		r.Least = part.Below
	}
	return r
}

// begin is the place after which a range is all that is left, which is no job's.
func (r Range) begin(s store.Sort) Place {
	if s == store.SortNewest {
		return Place{ID: r.Below}
	}
	return Place{ID: predecessor(r.Least)}
}

// predecessor is the id before one, which is not the first.
func predecessor(id store.ID) store.ID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]--; id[i] != 0xff {
			break
		}
	}
	return id
}

// Buckets are the first and the last bucket that have ids of a range, which is not empty.
func (r Range) Buckets() (first, last Bucket) {
	return BucketOf(r.Least), BucketOf(predecessor(r.Below))
}

// until is the beginning of a range, up to a place in it.
func (r Range) until(s store.Sort, p Place) Range {
	if s == store.SortNewest {
		r.Least = p.ID
	} else {
		r.Below = successor(p.ID)
	}
	return r
}
