"""Records, episodes and links: what each act does to them, and who may."""
