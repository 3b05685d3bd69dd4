"""What deploy/ holds, tried as far as this machine can."""
