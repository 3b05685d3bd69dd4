"""The links between records, and what they lead to."""
