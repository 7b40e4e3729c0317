"""Which sources fit a question: search by words, tolerant of lay terms and misspelling."""

from engine.retrieval.protocol import Hit, Retriever
from engine.retrieval.search import Search
from engine.retrieval.synonyms import Synonyms

__all__ = ["Hit", "Retriever", "Search", "Synonyms"]
