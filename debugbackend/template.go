package debugbackend

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template/parse"

	"github.com/massgen/massgen/internal/system/plain"
)

// template writes a text of a script.
type template func(*strings.Builder, scope) error

// scope has the values that a template can use at one place.
type scope struct {
	facts facts
	// dot is the value of {{.}}: the facts, or an answer inside {{range}}.
	dot any
	// piped is the result of the command before a |.
	piped any
}

// readTemplate reads a text in the syntax of text/template. That package itself is not used (DESIGN §9).
// readTemplate checks all names, and the kinds of all arguments, so that only an index can be wrong when
// the template is executed.
func readTemplate(text string) (template, error) {
	const name = "text"
	tree := parse.New(name)
	tree.Mode = parse.SkipFuncCheck // readFunction says what functions there are
	trees := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", trees); err != nil {
		return nil, err
	}
	if len(trees) > 1 || trees[name] != tree {
		return nil, notSupported("define")
	}
	return readList(tree.Root, kindFacts)
}

func notSupported(action string) error {
	return fmt.Errorf("{{%s}} is not supported: there are {{if}}, {{range}}, {{else}} and {{end}}", action)
}

// readList reads a part of a text in which the dot is of a kind. Nil is an empty part.
func readList(list *parse.ListNode, dot kind) (template, error) {
	var all []template
	if list != nil {
		for _, node := range list.Nodes {
			t, err := readNode(node, dot)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	return func(b *strings.Builder, s scope) error {
		for _, write := range all {
			if err := write(b, s); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func readNode(node parse.Node, dot kind) (template, error) {
	switch n := node.(type) {
	case *parse.TextNode:
		return func(b *strings.Builder, _ scope) error {
			b.Write(n.Text)
			return nil
		}, nil
	case *parse.ActionNode:
		v, err := readAction("", n.Pipe, dot)
		return func(b *strings.Builder, s scope) error {
			x, err := v.of(s)
			if err == nil {
				fmt.Fprint(b, x)
			}
			return err
		}, err
	case *parse.IfNode:
		return readIf(n, dot)
	case *parse.RangeNode:
		return readRange(n, dot)
	}
	action := strings.Fields(node.String())[0]
	return nil, notSupported(strings.Trim(action, "{}"))
}

func readIf(n *parse.IfNode, dot kind) (template, error) {
	condition, err := readAction("if ", n.Pipe, dot)
	if err != nil {
		return nil, err
	}
	then, err := readList(n.List, dot)
	if err != nil {
		return nil, err
	}
	otherwise, err := readList(n.ElseList, dot)
	return func(b *strings.Builder, s scope) error {
		x, err := condition.of(s)
		switch {
		case err != nil:
			return err
		case isTrue(x):
			return then(b, s)
		}
		return otherwise(b, s)
	}, err
}

func readRange(n *parse.RangeNode, dot kind) (template, error) {
	list, err := readAction("range ", n.Pipe, dot)
	if err != nil {
		return nil, err
	}
	if list.kind != kindAnswers {
		return nil, fmt.Errorf("{{range %s}}: range takes %s, not %s", inError(n.Pipe.String()), kindAnswers, list.kind)
	}
	each, err := readList(n.List, kindAnswer)
	if err != nil {
		return nil, err
	}
	otherwise, err := readList(n.ElseList, dot)
	return func(b *strings.Builder, s scope) error {
		x, err := list.of(s)
		if err != nil {
			return err
		}
		answers := x.([]Answer)
		if len(answers) == 0 {
			return otherwise(b, s)
		}
		for _, s.dot = range answers {
			if err := each(b, s); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// readAction reads the value of an action. An error names the action.
func readAction(keyword string, p *parse.PipeNode, dot kind) (value, error) {
	v, err := readPipe(p, dot)
	if err != nil {
		err = fmt.Errorf("{{%s%s}}: %w", keyword, inError(p.String()), err)
	}
	return v, err
}

// inError returns a part of a template for an error.
func inError(part string) string {
	const most = 80
	return plain.Cut(plain.Line(part), most)
}

func readPipe(p *parse.PipeNode, dot kind) (value, error) {
	if len(p.Decl) > 0 {
		return value{}, errors.New("variables are not supported")
	}
	v, err := readCommand(p.Cmds[0], dot, nil)
	for _, command := range p.Cmds[1:] {
		if err != nil {
			break
		}
		v, err = pipeInto(v, command, dot)
	}
	return v, err
}

// pipeInto reads a command whose last argument is the value.
func pipeInto(v value, command *parse.CommandNode, dot kind) (value, error) {
	piped := value{v.kind, func(s scope) (any, error) { return s.piped, nil }}
	result, err := readCommand(command, dot, []value{piped})
	return value{result.kind, func(s scope) (any, error) {
		x, err := v.of(s)
		if err != nil {
			return nil, err
		}
		s.piped = x
		return result.of(s)
	}}, err
}

func readCommand(command *parse.CommandNode, dot kind, piped []value) (value, error) {
	first, rest := command.Args[0], command.Args[1:]
	function, isCall := first.(*parse.IdentifierNode)
	if !isCall {
		if len(rest)+len(piped) > 0 {
			return value{}, errors.New("only functions take arguments")
		}
		return readOperand(first, dot)
	}
	var arguments []value
	for _, node := range rest {
		v, err := readOperand(node, dot)
		if err != nil {
			return value{}, err
		}
		arguments = append(arguments, v)
	}
	return readFunction(function.Ident, append(arguments, piped...))
}

func readOperand(node parse.Node, dot kind) (value, error) {
	switch n := node.(type) {
	case *parse.DotNode:
		return dotValue(dot), nil
	case *parse.FieldNode:
		return readFields(dotValue(dot), n.Ident)
	case *parse.VariableNode: // only $, since readPipe refuses others
		return readFields(value{kindFacts, func(s scope) (any, error) { return s.facts, nil }}, n.Ident[1:])
	case *parse.ChainNode:
		v, err := readOperand(n.Node, dot)
		if err != nil {
			return v, err
		}
		return readFields(v, n.Field)
	case *parse.IdentifierNode:
		return readFunction(n.Ident, nil)
	case *parse.PipeNode:
		return readPipe(n, dot)
	case *parse.StringNode:
		return constant(kindText, n.Text), nil
	case *parse.NumberNode:
		if number, err := strconv.ParseInt(n.Text, 0, strconv.IntSize); err == nil {
			return constant(kindNumber, int(number)), nil
		}
	}
	return value{}, fmt.Errorf("%s is not supported: constants are texts and integers", inError(node.String()))
}
