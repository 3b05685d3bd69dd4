"""What was signed, handed out, audited and erased."""
