package step

// PieceKind is the kind of a piece of what an agent writes and does.
type PieceKind string

// The kinds of pieces.
const (
	PieceStep    PieceKind = "step" // the heading of a step behind the agent's first
	PieceSaid    PieceKind = "said" // text beside tools, which may become an answer
	PieceThought PieceKind = "thought"
	PieceAnswer  PieceKind = "answer"
	PieceVote    PieceKind = "vote"
	PieceTool    PieceKind = "tool"
)
