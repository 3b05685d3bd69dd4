"""Proposals: what an approval changes, and what a rule makes of an episode."""
