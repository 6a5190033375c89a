// Package tty reads what the system knows of a terminal's keyboard.
package tty
