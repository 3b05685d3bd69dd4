"""Memories and stores of a service, as memories and stores."""
