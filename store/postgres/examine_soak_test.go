//go:build soak

package postgres_test

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestExamineFindsAPooler: where no notification arrives that is said.
func TestExamineFindsAPooler(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	open(t, config)
	p := newProxy(t, config.URL)
	p.dropNotifications.Store(true)
	config.URL = p.url
	if f := examined(t, config)["notifications"]; f.Severity != store.Warning || !strings.Contains(f.Text, "pooler") {
		t.Errorf("%+v", f)
	}
}
