"""Teacher and student: labelled scenarios written anew, small local judges trained on them, and both compared."""
