"""What a memory allows, and how it answers."""
