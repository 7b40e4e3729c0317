"""Whom a message is about: its writer, or somebody else the writer is worried about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.language.meaning_heads import MeaningReading
from engine.language.text import fold
from engine.types import Message
from engine.urgency.classifier import said_before

OTHER = "other"

# Folded, without accents; a word that can mean the writer in one language and another person in the next is left out.
_OTHERS = re.compile(
    r"\b(?:he|she|him|hes|shes|his|her|my (?:son|daughter|brother|sister|mum|mom|mother|dad|father|wife|husband|"
    r"partner|boyfriend|girlfriend|friend|best friend|flatmate|roommate|neighbou?r|cousin|uncle|aunt|niece|nephew|child|"
    r"kid|boy|girl|mate|ex|client|student|colleague)|a (?:friend|guy|girl|man|woman|boy|lad|member|user) (?:in|on|from|of|here)|"
    r"somebody i know|someone i know|han|hun|sonnen min|datteren min|broren min|sosteren min|soosteren min|kona mi|"
    r"mannen min|vennen min|venninna mi|kjaeresten min|mora mi|faren min|moren min|er|mein (?:sohn|bruder|mann|vater|freund|"
    r"kind|nachbar)|meine (?:tochter|schwester|frau|mutter|freundin)|el|ella|mi (?:hijo|hija|hermano|hermana|madre|padre|"
    r"mujer|marido|pareja|amigo|amiga|novio|novia)|il|elle|mon (?:fils|frere|mari|pere|ami|copain|voisin)|ma (?:fille|soeur|"
    r"femme|mere|copine|amie))\b"
)
_SELF = re.compile(
    r"\b(?:i (?:want|wanna|will|am|was|feel|have|can|cant|cannot|dont|took|take|hear|need|might|think about|keep|just|cut|hurt)|"
    r"im|i'm|ive|i've|myself|kill me|hurt me|tells? me|telling me|jeg (?:vil|er|har|skal|foler|tar|tok|orker|horer)|"
    r"meg selv|ich (?:will|bin|habe|hab|kann|werde|hore|mochte)|mich|quiero|estoy|he tomado|no puedo|me quiero|voy a|"
    r"je (?:veux|suis|vais|peux|me|nai)|j'ai|jai|j'entends)\b"
)
_WORRY = re.compile(
    r"\bi(?:'m| am|m)? (?:\w+ ){0,2}(?:worried|scared|afraid|frightened|terrified|concerned|think|heard|found|saw|know) "
    r"(?:\w+ ){0,3}(?:he|she|him|her|hes|shes|my|for|about|that)\b|\bi dont know what to do\b|\bi do not know what to do\b"
)


def about_another(message: str) -> bool:
    """Whether a message speaks of somebody other than its writer; in doubt it is taken to be about the writer."""
    said = fold(message)
    if not _OTHERS.search(said):
        return False
    return not _SELF.search(_WORRY.sub(" ", said))


def about_self(message: str) -> bool:
    """Whether a message plainly speaks of its writer and of nobody else."""
    said = fold(message)
    return _SELF.search(said) is not None and not _OTHERS.search(said)


class PersonInDanger(MeaningReading):
    """Tells who is in danger, where a message tells of one: whoever writes must not be thanked for looking out for somebody else.

    Learnt from labelled messages of danger (`python -m evaluation.person_fit`). Nothing of it is kept.
    """

    names = (OTHER,)
    trained_by = "evaluation.person_fit"

    def another(self, message: str, earlier: Sequence[Message]) -> bool:
        """Whether it is somebody other than the writer."""
        return self.heads.sums(message, said_before(earlier))[OTHER] >= self.heads.threshold(OTHER)
