"""Keys of subjects: what a person's memory is encrypted with, and where the keys lie."""
