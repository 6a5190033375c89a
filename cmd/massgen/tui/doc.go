// Package tui is the full-screen terminal: the agents of a panel side by side while they
// think, the rounds with answers and votes, and the conversation.
//
// Run shows a Conversation until the person leaves. It draws the state of a turn
// (report.State), which is a pure function of the turn's events. A batch of events is one message to the screen, at most twelve
// times a second, so that many agents that stream cost little.
package tui
