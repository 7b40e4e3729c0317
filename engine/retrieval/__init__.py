"""Which sources fit a question: search by words, tolerant of lay terms and misspelling."""
