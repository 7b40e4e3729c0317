"""Links and numbers to call: found in every spelling, and nothing else taken for one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.language.leads import callable_numbers, known_links, known_numbers, links

SPELLINGS = ("{0}{1}{2}", "{0} {1} {2}", "{0}.{1}.{2}", "{0}-{1}-{2}", "{0}\u00a0{1}\u202f{2}", "{0}\u2013{1}\u2011{2}")
SPELLINGS += ("{0}_{1}_{2}", "({0}) {1}/{2}", "{0}\u200b{1}\u00ad{2}", "{0} · {1} · {2}", "+{0} ({1}) - {2}")


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("See https://www.Example.net/a/ there.", "example.net/a"),
        ("See www.example.net", "example.net"),
        ("See scam-helpline.com/pay", "scam-helpline.com/pay"),
        ("Ask at help.example.org.", "help.example.org"),
        ("(t.me/scam_helper)", "t.me/scam_helper"),
        ("discord.gg/abcd", "discord.gg/abcd"),
        ("tg://resolve?domain=x", "tg://resolve?domain=x"),
        ("tg:resolve", "tg:resolve"),
        ("anything://else", "anything://else"),
        ("mailto:a", "mailto:a"),
        ("tom@evil.example", "tom@evil.example"),
        ("tom@localhost", "tom@localhost"),
        ("ｈｅｌｐ．ｃｏｍ", "help.com"),
        ("help。com", "help.com"),
        ("he\u200blp.c\u00adom", "help.com"),
        ("hеlр.соm", "help.com"),
        ("**help.com**", "help.com"),
        ("https://good.org@evil.com", "good.org@evil.com"),
    ],
)
def test_a_link_is_found_however_it_is_spelt(text: str, link: str) -> None:
    """Bare domains, invitations, any scheme, addresses, look-alike and invisible characters: all are links."""
    assert list(links(text)) == [link]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith said so. Then, e.g. at 8.30, take 2.5 mg.",
        "f.eks. dette, z.B. das, p.ex. cela, i.e. that, a.m. and p.m., and/or, U.S. law",
        "Well...yes. No?! 24/7. Note: this is so.",
        "Stress kan bidra. Ça va, schönes Wetter, 助けて。そう",
    ],
)
def test_ordinary_writing_is_no_link(text: str) -> None:
    """Abbreviations, times, amounts and the ends of sentences lead nowhere."""
    assert list(links(text)) == []


def test_a_site_is_known_by_the_pages_that_a_source_names() -> None:
    """The page, the pages above it and the site are known; a piece of a name is another site."""
    known = known_links("See https://www.nhs.uk/causes/stress, or write to help@mind.org.uk.")
    assert known == {"nhs.uk", "nhs.uk/causes", "nhs.uk/causes/stress", "help@mind.org.uk"}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_long_number_is_found_in_every_spelling(spelling: str) -> None:
    """Blanks, dots, dashes, underscores, brackets and invisible characters between the digits make no difference."""
    assert list(callable_numbers(f"It is {spelling.format('0900', '123', '456')}.")) == ["0900123456"]


@pytest.mark.parametrize("text", ["0️⃣9️⃣0️⃣0️⃣1️⃣2️⃣3️⃣", "０９００１２３", "٠٩٠٠١٢٣", "⓪⑨⓪⓪①②③", "𝟎𝟗𝟎𝟎𝟏𝟐𝟑"])
def test_digits_of_any_look_are_digits(text: str) -> None:
    """Keycaps, full-width, circled, mathematical and other scripts' digits are read as what they mean."""
    assert list(callable_numbers(text)) == ["0900123"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Call 113 now", "113"),
        ("Ring 118 118", "118118"),
        ("Text HELLO to 85258", "85258"),
        ("Wählen Sie bitte die 112", "112"),
        ("Sie können 112 anrufen", "112"),
        ("Llama al 024", "024"),
        ("Appelez le 3114", "3114"),
        ("Slå 113", "113"),
    ],
)
def test_a_short_number_counts_where_the_text_says_to_call(text: str, number: str) -> None:
    """Three to six digits are a number to call beside a word for calling, in each of the five languages."""
    assert list(callable_numbers(text)) == [number]


@pytest.mark.parametrize(
    "text",
    [
        "100-200 mg, 1.5-2.5 mg, 300 people, 1 in 100",
        "2019-2020, 12.05.2024, 2024-05-12, in 2015 to 2019. 100 people",
        "Open 9.00-17.00. Call 24/7, call between 09-17, call at 10.30, call before 2030",
        "Call somebody. 400 people did. Call if it is more than 400 mg",
    ],
)
def test_figures_times_and_amounts_are_no_numbers_to_call(text: str) -> None:
    """Doses, years, dates, hours and counts are left alone."""
    assert list(callable_numbers(text)) == []


def test_a_source_knows_its_numbers_whole() -> None:
    """A number of a source is known as a whole, whatever its spelling; not a few digits that happen to follow another."""
    assert known_numbers("In 2019: call 0800-123 4567 or 112.") == {"2019", "08001234567", "112"}


@given(st.text(alphabet="a.1@:/-_ ()\u20e3\n", max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever stands in a text, links and numbers come out as plain words."""
    assert all(one == one.strip() and "\n" not in one for one in (*links(text), *callable_numbers(text)))


@pytest.mark.parametrize(
    "piece", ["a.", "a-", "1 ", "1.", "1   ", "call 12 ", "a@", "a:", "1 /", "9\u20e3", "://", "((", "_"]
)
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    """Eight times the text takes less than forty times as long: a quadratic expression would take sixty-four times."""

    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        best = float("inf")
        for _ in range(8):
            begun = time.process_time()
            list(links(text)), list(callable_numbers(text))
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(64_000) < 40 * max(seconds(8_000), 1e-4)
