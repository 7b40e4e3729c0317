"""Sources signed off by people: who may do what, proposals, a second person's word, history."""
