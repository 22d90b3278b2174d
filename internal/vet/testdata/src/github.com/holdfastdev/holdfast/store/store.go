package store

type Tx interface{ StoreName() string }

type (
	Record struct{}
	Result struct{}
)
