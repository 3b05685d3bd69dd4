"""What assistants' programs keep of a talk: one module for each program."""
