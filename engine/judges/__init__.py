"""The judges: narrow questions asked of a draft, by a language model or by built-in measures."""
