"""The programs that people use, driven without a network against a model on loopback."""
