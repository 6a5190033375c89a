// Package driver plays turns. A Driver owns the machine of one turn and reads one inbox: every
// outside event is a Post. It applies all waiting posts as one batch, journals their events
// in one transaction, and then passes the machine's commands to a Runtime, which touches the world.
package driver
