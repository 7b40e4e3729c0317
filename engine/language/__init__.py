"""How a text is read: one spelling, sentences, words, stems, what it is like, where it leads."""
