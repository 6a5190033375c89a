package effect

// ToolState is the outcome of a call of one of the agent's own tools.
type ToolState string

// The states of a call that is over. A planned call was only described. A denied one was not
// permitted by a rule or a person. A refused one was of a tool that was not offered, or one too
// many. A cancelled one ended with its step. The outcome of an interrupted one is unknown,
// since its process was lost.
const (
	ToolRan         ToolState = "ran"
	ToolPlanned     ToolState = "planned"
	ToolDenied      ToolState = "denied"
	ToolRefused     ToolState = "refused"
	ToolCancelled   ToolState = "cancelled"
	ToolInterrupted ToolState = "interrupted"
)

// NoIndex is the index of a call that does not count among those of its step.
const NoIndex = -1
