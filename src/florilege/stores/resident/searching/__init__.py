"""What a search does with the arrays: masks, legs, and the one that runs them."""
