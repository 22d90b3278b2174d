// Package cron is the arithmetic of schedules: at which times one fires, said in cron's language,
// as an interval, or once. It is pure: no clock is read, nothing is started, and the same Spec
// gives the same times on every node. All it takes from outside is the zone database, see below.
//
//	errors      what is wrong with a text, and what to write instead
//	hash        the spread of H, and jitter: the same for the same name everywhere
//	zone        zones by name, and their clock: what it shows, and when it is changed
//	item, field what one field of an expression allows
//	days        which days of a month are meant
//	expression  an expression as a whole, and its text
//	wall        the next and the last time on the clock's face, whatever the zone
//	dst         the instants of these times: gaps, repeated hours
//	every, once the other two kinds
//	note, words what people are told
//	spec        the three kinds as one type
//	cron, text  how a Spec is made: from an expression, and from its stored text
//
// # The language
//
// Five fields, or six with seconds first; names in any case; Sunday is 0 or 7:
//
//	second, minute 0-59 · hour 0-23 · day of the month 1-31 · month 1-12, JAN-DEC · weekday 0-7, SUN-SAT
//	*  a  a-b  */n  a-b/n      all, one, a range, every n-th of these; n is less than the field has values
//	a/n                        a, and every n-th after it
//	a,b                        any of several
//	?                          for the two days, the same as *
//	L  L-3  15W  LW            day of the month: the last, the third before it, the weekday (Monday to
//	                           Friday) of the month that is nearest to the 15th, the last weekday
//	5L FRIL  MON#2             weekday: the last Friday, the second Monday of the month (Quartz writes 6L
//	                           for the Friday, as it counts from Sunday as 1; here it is cron's 0)
//	H  H(a-b)  H/n  H(a-b)/n   a value, or where every n-th begins, by the name of the schedule; days of
//	                           the month are spread over 1 to 28
//	@yearly @annually @monthly @weekly @daily @midnight @hourly, and @every 90s
//
// A day counts if it is one of both days' fields; but if one of these two begins with * or ?, it
// must be in both. So "13 * FRI" is each 13th and each Friday, as in Vixie's cron, and "*/2 * MON"
// is the Mondays among the odd days.
//
// A zone in front (CRON_TZ=…) is refused: it is given beside the expression, so that there is one
// place where it is. Also refused: a day that never comes (30 February), a step that steps over its
// whole field (*/90 minutes), a range that runs backwards, a year, and @reboot.
//
// # What it promises
//
// An expression has a set of times on the clock's face. It is an interval if its minute or its hour
// has *, */n, a/n or H/n, and fixed if both are values, ranges (with a step or without), and lists
// of them.
//
// An interval fires at each instant at which the clock shows one of its times: in both copies of a
// repeated hour, and never at a time that is left out.
//
// A fixed one fires when the clock shows a time of it, or more, for the first time: once in a
// repeated hour, at its first copy; and where the clock goes over it, at the first instant after
// that, once for all times that are left out together. With Skip, those left out do not fire.
//
// It holds for any change: of half an hour, at midnight, of a whole day, for good. Next and Prev
// are strictly after and before, each other's inverse, and end after 400 years without a time:
// after so many the calendar repeats. Times are between the years 1 and 9999, on whole seconds for
// expressions and microseconds for the rest, as stores keep them.
//
// The text of a Spec, see [Spec.String], and what [Jitter] and H make of a name are stored by
// users. They never change; testdata holds them fast.
//
// # How it fails
//
// By a [*SyntaxError], [*ImpossibleError] or [*ZoneError] when a Spec is made, not later. A
// schedule whose times are all left out by Skip, or lie in the past, is no error: Next reports that
// there is none.
//
// # Zones
//
// The package imports time/tzdata, half a megabyte. Zones are names in a database: a program that
// does not find one on a machine without the zones' files would have to leave a schedule unfired
// that another node knows, and would find out at run time. The system's files, where there are any,
// win over it, so updates of the system arrive without a new build. Nodes whose files differ may
// compute different times until both are updated; what a schedule fires is decided by the store.
// A zone is loaded once in a process.
//
// # Sources
//
// Fixed times and intervals, and how two days' fields combine: ISC's cron, after Vixie, which has
// no a/n and no H/n. L, W and #: Quartz. H: Jenkins. The code owes them rules only.
//
// # Imports
//
// None of ours.
package cron
