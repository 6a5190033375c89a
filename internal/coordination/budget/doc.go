// Package budget keeps the account of a turn's spending (DESIGN §6). Before an attempt it holds
// the most that the attempt may cost, and afterwards it books the cost. It is pure: its results depend
// only on the calls so far, in their order.
package budget
