// Package figures holds what was measured, and does the arithmetic: medians, spreads, ratios and
// percentiles. It prints them as a table for people and as JSON lines for programs.
//
// A ratio compares two systems within a round, which is when the machine was as alike as it gets,
// and the median of these is printed; it is not the ratio of the medians. It says how many times
// better we are: above 1 we are, whether more is better (a rate) or less (a latency).
package figures
