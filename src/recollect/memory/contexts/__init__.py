"""What is packed for a prompt, how, and what was handed out."""
