module github.com/holdfastdev/holdfast

go 1.26.0

require github.com/google/uuid v1.6.0

require (
	github.com/google/go-cmp v0.7.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
