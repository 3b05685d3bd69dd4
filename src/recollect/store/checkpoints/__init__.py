"""Checkpoints: signing a ledger, keeping what was signed, and proving an event."""
