package api

const (
	// pageBytes is from how many bytes of payloads on a page of a list ends early. A payload may
	// have a megabyte, and a page of 200 jobs would have 200 of them.
	pageBytes = 8 << 20
	// firstPortion is how many items are read before it is known how large they are, and
	// mostPortion how many at once then, as what comes may not be like them. So two reads fill a
	// page of the default limit, and no page has more than mostPortion items beyond its bytes.
	firstPortion, mostPortion = 16, 64
)

// Fill collects a page of items with payloads. read returns the next n items, or fewer, and whether
// there are more behind these; size is how many bytes of payloads an item has. It reads in
// portions, and ends when there are limit items or, after a portion, more than 8 MiB, so a page may
// have fewer items than it could. more tells whether there are items behind it.
func Fill[T any](limit int, size func(*T) int, read func(n int) (items []T, more bool, err error)) (items []T, more bool, err error) {
	bytes := 0
	for n := firstPortion; ; {
		var part []T
		if part, more, err = read(min(n, limit-len(items))); err != nil {
			return nil, false, err
		}
		for i := range part {
			bytes += size(&part[i])
		}
		items = append(items, part...)
		if !more || len(items) >= limit || bytes >= pageBytes {
			return items, more, nil
		}
		n = mostPortion
		if bytes > 0 {
			n = max(1, min(n, (pageBytes-bytes)*len(items)/bytes))
		}
	}
}
