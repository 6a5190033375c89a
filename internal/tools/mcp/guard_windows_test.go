package mcp_test

// families are played on Unix only.
var families = map[string]func(args []string){}
