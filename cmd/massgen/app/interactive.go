package app

import "context"

func (s *session) interact(context.Context) error { return nil }
