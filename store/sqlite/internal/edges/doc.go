// Package edges keeps which jobs come after which others (store.Dependency): a row for each
// predecessor that a job still waits for, and the predecessors that CloseChildren has to look at.
//
// Who finishes a job whose body says that others come after it leaves a note of it (Check). The run
// of one that had begun before they did does not know of them: such a job has a note from then on,
// until it has finished or was put back. There is one writer, so it is one or the other.
//
// # Imports
//
// Package store, packages db and core.
package edges
