package gateway

import (
	"context"
	"fmt"
	"math"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// reserve takes a permit if it is the one that the client expects, of which its append tells.
func reserve(ctx context.Context, st store.Store, r *store.Reservation) (any, error) {
	if r.Append == nil || !complete(r.Append) {
		return nil, fmt.Errorf("%w: a permit is taken with an append, without what is null", store.ErrInvalid)
	}
	expected, sent := wire.Reserved{At: r.At, Stopped: r.Stopped, Resumed: r.Resumed}, r.Append.Entries
	var found wire.Reserved
	r.Say = func(r *store.Reservation) {
		found = wire.Reserved{At: r.At, Stopped: r.Stopped, Resumed: r.Resumed}
		r.Append.Entries = sent
		if found.Differs = !found.At.Equal(expected.At) || found.Stopped != expected.Stopped || found.Resumed != expected.Resumed; found.Differs {
			r.Append.Entries = refused
		}
	}
	err := st.Reserve(ctx, r)
	if found.Differs && err != nil {
		return &wire.Out[wire.Reserved, wire.AppendDone]{A: found}, nil //nolint:nilerr // the error is that of refused
	}
	return &wire.Out[wire.Reserved, wire.AppendDone]{A: found, B: wire.AppendDoneOf(r.Append), Err: err}, nil
}

// refused are entries that no store takes: the transaction that has them does nothing.
var refused = []store.Entry{{Seq: 1, Kind: math.MaxUint8}}

func complete(a *store.Append) bool {
	for _, q := range a.Enqueues {
		if q == nil {
			return false
		}
	}
	return true
}
