"""Texts and queries are cut into the same terms, in every script."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.search.highlight import excerpt, marks
from scriptorium.search.tokenize import query_terms, spans, terms, terms_and_language


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("The users were running home", "run", id="english stem"),
        pytest.param("call retryBudget() again", "retry budget", id="camel case by parts"),
        pytest.param("call retryBudget() again", "retrybudget", id="camel case whole"),
        pytest.param("set MAX_LINKS to 3", "max links", id="snake case by parts"),
        pytest.param("set MAX_LINKS to 3", "max_links", id="snake case whole"),
        pytest.param("edit cache/http.py now", "http.py", id="file of a path"),
        pytest.param("edit cache/http.py now", "cache/http.py", id="path"),
        pytest.param("a well-known docker-compose file", "docker compose", id="kebab"),
        pytest.param("HTTPServer crashed", "http server", id="acronym before a word"),
        pytest.param("written in C++ and C#", "c++", id="c++"),
        pytest.param("it cost 1,250 euros", "1250", id="thousands"),
        pytest.param("version 3.12.1 is out", "3.12.1", id="version"),
        pytest.param("on 2026-08-03 we met", "2026-08", id="day by its month"),
        pytest.param("on 3 August 2026 we met", "2026-08-03", id="written day"),
        pytest.param("in Aug 2026 we met", "2026-08", id="written month"),
        pytest.param("2026年8月3日搬家", "2026-08-03", id="Chinese date"),
        pytest.param("at 2026-08-03T10:20:30Z", "2026-08-03", id="moment by its day"),
        pytest.param("a café in Kraków", "cafe krakow", id="accents left out"),
        pytest.param("a cafe in Krakow", "café", id="accents put in"),
        pytest.param("die Straße", "STRASSE", id="sharp s"),
        pytest.param("用户搬到上海浦东", "上海", id="Chinese bigram"),
        pytest.param("用户搬到上海浦东", "沪上", id="Chinese character"),
        pytest.param("カタカナで書く", "カタカナ", id="katakana"),
        pytest.param("半角ｶﾀｶﾅ", "カタカナ", id="half-width katakana"),
        pytest.param("서울에 산다", "서울", id="Hangul"),
        pytest.param("Пользователь переехал в Москву", "москве", id="Russian stem"),
        pytest.param("المستخدم يسكن في البيت", "بيت", id="Arabic article"),
        pytest.param("ＦＵＬＬ width", "full", id="full-width letters"),
        pytest.param("we had 🎉 yesterday", "🎉", id="emoji"),
        pytest.param("moved to the US", "US", id="acronym that is a stop word"),
    ],
)
def test_a_text_is_found_by(text: str, query: str) -> None:
    assert {asked.term for asked in query_terms(query)} & set(terms(text))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        pytest.param("The cat sat on the mat", "the on", id="stop words"),
        pytest.param("他的猫", "你的", id="Chinese particle"),
        pytest.param("a workshop", "work", id="the beginning of a word"),
    ],
)
def test_a_text_is_not_found_by(text: str, query: str) -> None:
    assert not {asked.term for asked in query_terms(query)} & set(terms(text))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where the user lives and works", "english"),
        ("El usuario vive en una casa de Madrid con su perro", "spanish"),
        ("Der Nutzer wohnt mit seiner Frau in einer kleinen Stadt", "german"),
        ("L'utilisateur habite dans une maison avec ses enfants", "french"),
        ("De gebruiker woont in een huis en heeft een hond", "dutch"),
        ("Kullanıcı bir ev için çok para verdi ve daha sonra", "turkish"),
        ("retryBudget", "english"),
        ("", "english"),
    ],
)
def test_the_function_words_tell_the_language(text: str, language: str) -> None:
    assert terms_and_language(text)[1] == language


def test_a_query_of_one_word_has_the_stems_of_every_language_of_the_index() -> None:
    text = terms("El usuario vive en las casas de Madrid con su perro")
    assert not {asked.term for asked in query_terms("casas")} & set(text)
    assert {asked.term for asked in query_terms("casas", ["spanish"])} & set(text)


def test_parts_of_one_identifier_speak_for_one_word_and_bigrams_for_themselves() -> None:
    assert len({asked.word for asked in query_terms("retryBudget")}) == 1
    assert {asked.word for asked in query_terms("海")} == {None}
    assert len({asked.word for asked in query_terms("上海")} - {None}) == 1


ANY_TEXT = st.text(st.characters(codec=None), max_size=300)  # lone surrogates too


@settings(max_examples=100)
@given(ANY_TEXT)
def test_any_text_has_terms_and_the_same_ones_as_a_query(text: str) -> None:
    of_text = terms(text)
    assert [asked.term for asked in query_terms(text)] == of_text
    assert all(term and len(term) <= 64 for term in of_text)


@settings(max_examples=100)
@given(ANY_TEXT, ANY_TEXT)
def test_marks_lie_within_the_text_in_order(query: str, text: str) -> None:
    last = 0
    for start, end in marks(query, text):
        assert last <= start < end <= len(text)
        last = end
    assert all(0 <= start < end <= len(text) for start, end, _ in spans(text))


@pytest.mark.timeout(60)  # were the time to grow faster than the text, this would take hours
@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("word and ", {"word"}),
        ("a.", set()),
        ("a", {"a" * 64}),
        ("上海", {"上", "海", "上海", "海上"}),
        ("é", {"e" * 64}),
        ("_-./", set()),
        ("á\u0301", {"a" * 64}),
        ("2026-08-03 ", {"2026", "2026-08", "2026-08-03"}),
        ("A", {"a" * 64}),
    ],
    ids=[
        "words",
        "single letters",
        "one word",
        "CJK",
        "accent",
        "punctuation",
        "combining accents",
        "dates",
        "capitals",
    ],
)
def test_a_text_of_millions_of_characters_is_cut_like_a_short_one(
    unit: str, found: set[str]
) -> None:
    assert set(terms(unit * (2_000_000 // len(unit)))) == found


def test_marks_are_the_matching_words() -> None:
    text = "They were running; the runner ran to 上海浦东."
    assert [text[a:b] for a, b in marks("run 上海", text)] == ["running", "上海"]


def test_an_excerpt_shows_where_the_words_are() -> None:
    text = "filler words here " * 500 + "the zebra is in Pudong " + "more filler text " * 500
    shown = excerpt(text, {"zebra", "pudong"}, 600)
    assert "zebra is in Pudong" in shown
    assert len(shown.encode()) <= 620
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert excerpt("short", {"x"}, 600) == "short"
