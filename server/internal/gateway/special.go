package gateway

import (
	"context"

	"github.com/holdfastdev/holdfast/internal/wire"
	"github.com/holdfastdev/holdfast/store"
)

// special are the methods that set something in what they are given, or can be given a transaction,
// and Join, whose node is not one of this process.
var special = map[string]func(context.Context, store.Store, func(any) error) (any, error){
	"Apply": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[wire.Batch, wire.None, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		batch, err := in.A.Open()
		if err != nil {
			return nil, err
		}
		ascribeBatch(ctx, batch)
		err = st.Apply(ctx, batch)
		return &wire.Out[wire.Applied, wire.None]{A: wire.AppliedOf(batch), Err: err}, nil
	},
	"Claim": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[store.ClaimParams, wire.None, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		claimed, err := st.Claim(ctx, in.A)
		return &wire.Out[[]store.Claimed, *store.Passed]{A: claimed, B: in.A.Passed, Err: err}, nil
	},
	"Join": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[store.NodeInfo, wire.None, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		node, err := st.Join(store.Elsewhere(ctx), in.A) // it does not die with this process
		return &wire.Out[int64, wire.None]{A: node, Err: err}, nil
	},
	"Reserve": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[store.Reservation, wire.None, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		return reserve(ctx, st, &in.A)
	},
	"CreateBatch": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[store.JobBatch, wire.None, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		return &wire.Out[wire.None, wire.None]{Err: st.CreateBatch(ctx, nil, in.A)}, nil
	},
	"CloseBatch": func(ctx context.Context, st store.Store, decode func(any) error) (any, error) {
		var in wire.In[string, store.ID, wire.None, wire.None]
		if err := decode(&in); err != nil {
			return nil, err
		}
		return &wire.Out[wire.None, wire.None]{Err: st.CloseBatch(ctx, nil, in.A, in.B)}, nil
	},
}
