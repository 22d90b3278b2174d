package race

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// raceSettings: two that set something else of a queue at once both do.
func raceSettings(e *env.Env) {
	for range 5 {
		e.SetQueue("mail", store.AttemptSettings{Heartbeat: time.Second}, store.SettingMaxAttempts|store.SettingTimeout)
		crowd.Together(e, 2, func(i int) error {
			set := []store.AttemptSettings{{MaxAttempts: 3}, {Timeout: time.Hour}}[i]
			if _, err := e.Store.SetQueue(e.Ctx, store.SetQueueParams{Namespace: env.Namespace, Queue: "mail", Set: set}); err != nil {
				return fmt.Errorf("SetQueue: %w", err)
			}
			return nil
		})
		e.Equal("set", e.Queue("mail").Attempts.AttemptSettings,
			store.AttemptSettings{MaxAttempts: 3, Timeout: time.Hour, Heartbeat: time.Second})
	}
}
