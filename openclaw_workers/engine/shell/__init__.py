"""Commands in the background, as the engine knows them."""
