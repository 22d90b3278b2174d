// Package contexts has the verbs of contexts, which say where commands go, under names.
//
// # Imports
//
// Of ours, what verbs are made of, and internal/cli/config.
package contexts
