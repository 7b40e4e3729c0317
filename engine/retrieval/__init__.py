"""Which sources fit a question: search by words, tolerant of lay terms and misspelling."""

from engine.language.synonyms import Synonyms
from engine.retrieval.protocol import Hit, Retriever
from engine.retrieval.search import Search

__all__ = ["Hit", "Retriever", "Search", "Synonyms"]
