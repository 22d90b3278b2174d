package store

type Tx interface{ StoreName() string }
