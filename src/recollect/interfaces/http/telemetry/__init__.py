"""What a service tells of itself: metrics, spans and one line for each request."""
