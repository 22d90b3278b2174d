package store

type Tx interface{ StoreName() string }

type (
	AttemptSettings struct{}
	QueueAttempts   struct{}
	Record          struct{}
	Result          struct{}
	Setting         int
)
