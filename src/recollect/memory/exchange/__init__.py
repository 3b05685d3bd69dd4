"""Moving in from other programs, and handing on what is here."""
