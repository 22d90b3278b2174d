//go:build soak

package crashtest

var flowRules = []string{
	noLoss, oneOwner, remembered, finishedIsFinal, exactlyOnce, undone, childrenAnswer, oncePerKey, everyDueThing,
	cancelArrives, pauseHolds, atMostOnce, actionsAreRecorded, nothingIsStuck, saidIsStored, oneReply, oneHolder,
}
