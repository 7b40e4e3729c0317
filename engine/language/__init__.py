"""How a text is read: one spelling, sentences, words, stems, what stands for what, where it leads."""
