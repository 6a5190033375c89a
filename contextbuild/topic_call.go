package contextbuild

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"

	"github.com/massgen/massgen/backends"
)

//go:embed prompts/topic_call.txt
var topicCallPrompt string

// TopicQuestion is the input of TopicCall. Texts need not be cleaned before.
type TopicQuestion struct {
	// Current is the present topic with its details, empty without one.
	Current string
	// Pending is the topic that waits for the user's confirmation, with its details, empty without
	// one. PendingQuestion is the question that brought it up.
	Pending, PendingQuestion string
	// History holds the turns before this one, oldest first; the last two are used.
	History  []Exchange
	Question string
}

// topicAct is the effect of a question on the topic of its conversation.
type topicAct string

// The acts. A proposed topic waits, with its question, until a later question confirms or
// declines it.
const (
	TopicKept      topicAct = ""
	TopicSet       topicAct = "set"
	TopicProposed  topicAct = "proposed"
	TopicConfirmed topicAct = "confirmed"
	TopicDeclined  topicAct = "declined"
)

// TopicChange is a model's finding about a question.
type TopicChange struct {
	Act topicAct
	// Name is the topic that is set or proposed, in one line.
	Name string
	// Details are its "location" and "era", as far as known; nil is neither.
	Details map[string]string
}

// The tools of a topic call.
const (
	setTopic     = "set_topic"
	proposeTopic = "propose_topic"
	confirmTopic = "confirm_topic"
	declineTopic = "decline_topic"
)

// TopicCall returns the messages and the tools of the call in which a model finds the effect of
// a question on the topic (seed 002, current and pending topic). The model gets the first 8,000
// characters of each text. The tools omit acts that are impossible now.
func TopicCall(in TopicQuestion) (messages []backends.Message, tools []backends.Tool) {
	sections := []string{callSection("CURRENT TOPIC", cmp.Or(in.Current, "None."))}
	if in.Pending != "" {
		sections = append(sections, callSection("PENDING TOPIC", in.Pending), callSection("QUESTION OF THE PENDING TOPIC", in.PendingQuestion))
	}
	sections = append(sections, callSection("RECENT CONVERSATION", RecentConversation(in.History)), callSection("QUESTION", in.Question))
	return []backends.Message{backends.System(topicCallPrompt), backends.User(joinSections(sections...))}, topicTools(in)
}

func topicTools(in TopicQuestion) []backends.Tool {
	tools := []backends.Tool{{
		Name: setTopic, Description: "Make this the topic: the user has named it, or asked to go over to it.", Schema: json.RawMessage(topicSchema),
	}}
	if in.Current != "" {
		tools = append(tools, backends.Tool{
			Name: proposeTopic, Description: "Ask the user whether this is the topic now: the QUESTION leaves the CURRENT TOPIC without saying so.", Schema: json.RawMessage(topicSchema),
		})
	}
	if in.Pending != "" {
		tools = append(tools,
			backends.Tool{Name: confirmTopic, Description: "The user agrees to the PENDING TOPIC.", Schema: json.RawMessage(emptySchema)},
			backends.Tool{Name: declineTopic, Description: "The user does not want the PENDING TOPIC.", Schema: json.RawMessage(emptySchema)},
		)
	}
	return tools
}

const (
	topicSchema = `{"type":"object","properties":{"name":{"type":"string","description":"The topic, in a few words."},` +
		`"location":{"type":"string","description":"Where it is, if that was said."},` +
		`"era":{"type":"string","description":"When it is, if that was said."}},"required":["name"],"additionalProperties":false}`
	emptySchema = `{"type":"object","properties":{},"additionalProperties":false}`
)

// ReadTopicCall reads the reply to a TopicCall of the same question. A message without a tool
// call is TopicKept, whatever its text. An impossible act is an error with the reason, and
// nothing should change.
func ReadTopicCall(in TopicQuestion, message backends.Message) (TopicChange, error) {
	return readCall("find out the topic", message, func(call backends.ToolCall) (TopicChange, error) {
		return readTopicAct(in, call)
	})
}

func readTopicAct(in TopicQuestion, call backends.ToolCall) (TopicChange, error) {
	switch call.Name {
	case setTopic:
		return readTopic(TopicSet, call)
	case proposeTopic:
		if in.Current == "" {
			return TopicChange{}, errors.New("there is no topic that the question could leave")
		}
		return readTopic(TopicProposed, call)
	case confirmTopic, declineTopic:
		if in.Pending == "" {
			return TopicChange{}, errors.New("no topic is pending")
		}
		_, err := argumentsOf(call)
		if call.Name == declineTopic {
			return TopicChange{Act: TopicDeclined}, err
		}
		return TopicChange{Act: TopicConfirmed}, err
	}
	return TopicChange{}, errors.New("there is no such tool")
}

func readTopic(act topicAct, call backends.ToolCall) (TopicChange, error) {
	change := TopicChange{Act: act}
	args, err := argumentsOf(call, "name", "location", "era")
	if err != nil {
		return change, err
	}
	if change.Name, err = args.line("name"); err != nil {
		return change, err
	}
	if change.Name == "" {
		return change, errors.New("its name is missing or empty")
	}
	for _, key := range []string{"location", "era"} {
		detail, err := args.line(key)
		if err != nil {
			return change, err
		}
		if detail == "" {
			continue
		}
		if change.Details == nil {
			change.Details = map[string]string{}
		}
		change.Details[key] = detail
	}
	return change, nil
}
