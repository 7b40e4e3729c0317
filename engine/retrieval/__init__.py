"""Which sections and sources fit a question: the one search, through what people would type for them."""
