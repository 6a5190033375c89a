package questions

// Simulation says how a simulated member answers. The same seed, question, agent and round give the
// same reply.
type Simulation struct {
	Questions []Question
	// Accuracy is the probability that the member's own answer is right.
	Accuracy float64
	// Correlation is that of the errors of two members with this correlation, accuracy and seed.
	// Members with different accuracies are less correlated.
	Correlation float64
	// Conformity is the probability that the member goes over to what most others answered, each
	// time it is shown their answers. It stays with the others then.
	Conformity float64
}
