// Package driver plays turns. A Driver owns the machine of one turn and reads one inbox:
// whatever happens outside is a Post. It journals what waits as one batch, applies it in
// order, and hands the machine's commands to a Runtime, which touches the world for it.
package driver
