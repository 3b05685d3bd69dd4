"""Tests of how assistants get a token: OAuth."""
