// Package driver plays turns. A Driver owns the machine of one turn and reads one inbox: every
// outside event is a Post. It journals all waiting posts as one batch, applies them in order,
// and passes the machine's commands to a Runtime, which touches the world.
package driver
