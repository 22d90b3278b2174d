// Package requests tests that what a caller asks for twice under one key happens once, and is
// answered as it was the first time.
package requests

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{"Requests": env.Merged(tests, ofVerbs()), "RaceRequests": raceTests}

var tests = env.Tests{
	"AtomicTransitions_a_request_is_there_if_its_effect_is": whole,
	"a_repeated_request_does_nothing":                       repeated,
	"a_key_for_another_request_is_refused":                  other,
	"two_in_one_batch_are_one":                              twins,
	"the_answer_says_what_enqueues_met":                     met,
	"the_answer_of_a_send_is_kept":                          sent,
	"many_jobs_of_one_request":                              many,
	"one_that_has_begun_is_under_way_until_it_ends":         begun,
	"one_that_was_dropped_begins_anew":                      dropped,
	"one_that_took_too_long_is_taken_over":                  takenOver,
	"one_of_which_something_has_happened_stays":             happenedBefore,
	"what_begins_twice_after_a_lost_answer_has_begun":       beginsAgain,
	"requests_are_forgotten_after_a_day":                    forgotten,
	"what_is_no_request_is_refused":                         invalid,
}

var raceTests = env.Tests{
	"AtomicTransitions_one_request_of_many_at_once":       race,
	"AtomicTransitions_requests_in_any_order_do_not_wait": crossing,
	"OneOwner_one_of_many_begins":                         raceBegin,
}
