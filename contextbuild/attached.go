package contextbuild

import "github.com/massgen/massgen/backends"

// AttachedText returns the text of a file that was attached to a question, as it stands before the
// question in the user's message. A blank line ends it, since some services join the parts of a
// message.
func AttachedText(name, text string) string {
	return fileOpen + "\n" + escape(name) + ":\n" + escape(text) + "\n" + fileClose + "\n\n"
}

// DescribeCall returns the messages of the call that asks for the words which stand for files where
// a model does not take them.
func DescribeCall(question string, files []backends.File) []backends.Message {
	user := backends.Message{Role: backends.RoleUser}
	for _, f := range files {
		user.Parts = append(user.Parts, f)
	}
	user.Parts = append(user.Parts, backends.Text{Text: questionOpen + " " + escape(question) + " " + questionClose})
	return []backends.Message{backends.System(describeFiles), user}
}
