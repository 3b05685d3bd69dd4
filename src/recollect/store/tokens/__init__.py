"""Tokens: what one allows, who keeps them, and who may create them."""
