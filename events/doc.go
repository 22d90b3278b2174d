// Package events reads every change of a job's state: without gaps, and causes before their
// effects.
//
//	if _, err := events.On(ctx, client); err != nil { … } // once for the database
//	for event, err := range events.Read(ctx, client, from, events.Filter{Queues: []string{"mail"}}) {
//		if err != nil { … }
//		fmt.Println(event.Job, event.State)
//		from = event.Position // keep it, to go on from there after a restart
//	}
//
// Watch yields what one job does, as it happens, and needs no feed.
//
// The feed is off until it is switched on, which holds for all processes of the database. It keeps
// changes for three days (holdfast.WithRetention). docs/events.md says what is told, and what it
// costs.
package events
