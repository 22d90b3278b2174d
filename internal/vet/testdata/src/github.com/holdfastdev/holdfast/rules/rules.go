// Package rules is a stub.
package rules

import (
	"context"

	"github.com/holdfastdev/holdfast"
)

type Outcome string

func Answer(ctx context.Context, client *holdfast.Client, token string, sent []byte) (Outcome, error) {
	return "", nil
}
