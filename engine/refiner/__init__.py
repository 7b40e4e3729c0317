"""The refiner: repairs a draft that a chief judge has rejected."""
