"""Rules: which episodes become records, and what a proposer says of them."""
