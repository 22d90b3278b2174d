package api_test

import (
	"os"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) {
	if source := os.Getenv(serveEnv); source != "" {
		os.Exit(serve(source))
	}
	apitest.Main(m)
}
