"""Acts: what a form changes, and who may send it."""
