// Package budget keeps account of what a turn may spend (DESIGN §6): before an attempt
// its most is held, after it what it cost is booked. It is pure: what to do next depends
// on nothing but the calls made so far, in their order.
package budget
