package machine

import (
	"fmt"
	"maps"

	"pgregory.net/rapid"
)

func (m *machine) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"":       m.check,
		"join":   m.joinNode,
		"leave":  m.leaveNode,
		"beat":   m.beatNode,
		"ask":    m.askNode,
		"cancel": m.cancelJobs,
		"retry":  m.retryJobs,
		"pause":  m.pauseQueue,
		"rest":   m.restQueue,
		"set":    m.setQueue,
		"drop":   m.deleteQueue,
		"rescue": m.rescueNodes,
		"giveup": m.giveUpRuns,
		"sweep":  m.sweepCancels,
		"retain": m.retainJobs,
		"repeat": m.repeatClaim,
		"again":  m.repeatStart,
		"edit":   m.editJob,
		"delete": m.deleteJobs,
		"depend": m.dependJob,
		"close":  m.closeChildren,
	}
	maps.Copy(all, m.batchActions())
	maps.Copy(all, m.logActions())
	maps.Copy(all, m.attributeActions())
	if m.mode.durable {
		maps.Copy(all, m.durableActions())
	}
	if m.mode.scheduled {
		maps.Copy(all, m.scheduleActions())
	}
	if m.mode.limited {
		maps.Copy(all, m.limitActions())
	}
	if m.mode.gated {
		all["unlimit"] = m.deleteLimit
		for i := range 3 {
			all[fmt.Sprintf("gate%d", i)] = m.saveGate
		}
		delete(all, "pause")
		delete(all, "rest")
	}
	if !m.mode.keyed {
		all["promote"] = m.promoteDue
	}
	// What moves jobs forward comes up more often.
	for i := range 4 {
		all[fmt.Sprintf("apply%d", i)] = m.applyBatch
		all[fmt.Sprintf("claim%d", i)] = m.claimJobs
	}
	for i := range 2 {
		all[fmt.Sprintf("clock%d", i)] = m.moveClock
		all[fmt.Sprintf("list%d", i)] = m.listJobs
		all[fmt.Sprintf("dead%d", i)] = m.groupDead
	}
	return all
}

func (m *machine) batchActions() map[string]func(*rapid.T) {
	if !m.mode.batched {
		return nil
	}
	all := map[string]func(*rapid.T){"closebatch": m.closeJobBatch}
	for i := range 4 {
		all[fmt.Sprintf("newbatch%d", i)] = m.newJobBatch
		all[fmt.Sprintf("countbatches%d", i)], all[fmt.Sprintf("retrymembers%d", i)] = m.countJobBatches, m.retryMembers
	}
	return all
}

func (m *machine) scheduleActions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"unschedule": m.deleteSchedule, "due": m.dueSchedules, "schedules": m.listSchedules}
	for i := range 4 {
		all[fmt.Sprintf("schedule%d", i)] = m.saveSchedule
	}
	for i := range 12 {
		all[fmt.Sprintf("fire%d", i)] = m.fireSchedules
	}
	return all
}

// The operations of a machine on jobs that remember: what persons do to them, and what becomes of
// children. What runs write is in actions_journal.go.

func (m *machine) durableActions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"pausejobs": m.pauseJobs,
		"terminate": m.terminateJobs,
		"fork":      m.forkJob,
		"forget":    m.forgetUpdate,
		"finish":    m.finishOutside,
	}
	for i := range 2 {
		all[fmt.Sprintf("resume%d", i)] = m.resumeJob
	}
	return all
}
