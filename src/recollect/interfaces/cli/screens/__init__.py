"""Answers that are drawn: panels, screens and scores."""
