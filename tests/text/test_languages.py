"""Languages told from short questions and from passages; what a model that knows English should be asked about."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.text.languages import KNOWN, covers, knows, language

TEXTS = {
    "en": ("What is the warranty on a refurbished press?", "The letters were sorted before they left the workshop."),
    "de": ("Wie lange gilt die Garantie für eine Presse?", "Die Briefe wurden sortiert, bevor sie das Haus verließen."),
    "fr": (
        "Combien de temps dure la garantie d'une presse ?",
        "Les lettres ont été triées avant de quitter l'atelier.",
    ),
    "es": ("¿Cuánto dura la garantía de una prensa?", "Las cartas fueron ordenadas antes de salir del taller."),
    "it": ("Quanto dura la garanzia di una pressa?", "Le lettere sono state ordinate prima di lasciare la bottega."),
    "pt": ("Quanto tempo dura a garantia de uma prensa?", "As cartas foram ordenadas antes de saírem da oficina."),
    "nl": (
        "Hoe lang is de garantie op een pers geldig?",
        "De brieven werden gesorteerd voordat ze het huis verlieten.",
    ),
    "sv": (
        "Hur länge gäller garantin för en press?",
        "Breven sorterades innan de lämnade verkstaden och skickades ut.",
    ),
    "da": ("Hvor længe gælder garantien for en presse?", "Brevene blev sorteret, før de forlod værkstedet hvert år."),
    "no": (
        "Hva er garantien på en presse, og når går den ut?",
        "Brevene ble sortert før de gikk ut av huset, ikke nå.",
    ),
    "fi": ("Kuinka kauan painokoneen takuu on voimassa?", "Kirjeet lajiteltiin ennen kuin ne lähtivät talosta."),
    "pl": ("Jak długo jest ważna gwarancja na prasę?", "Listy zostały posortowane, zanim opuściły warsztat."),
    "cs": ("Jak dlouho platí záruka na lis?", "Dopisy byly roztříděny, než opustily dílnu, a pak je poslali."),
    "hu": ("Mennyi ideig érvényes a garancia egy présre?", "A leveleket szétválogatták, mielőtt elhagyták a műhelyt."),
    "ro": (
        "Cât timp este valabilă garanția pentru o presă?",
        "Scrisorile au fost sortate înainte de a părăsi atelierul.",
    ),
    "tr": ("Bir baskı makinesinin garantisi ne kadar sürer?", "Mektuplar atölyeden çıkmadan önce sıralandı ve gitti."),
    "vi": ("Máy in được bảo hành trong bao lâu?", "Các bức thư đã được sắp xếp trước khi rời khỏi xưởng."),
    "id": ("Berapa lama garansi untuk mesin cetak ini?", "Surat-surat itu disortir sebelum meninggalkan bengkel."),
}

CASES = [(code, text) for code, texts in TEXTS.items() for text in texts]


@dataclass
class Model:
    """What says which languages it knows."""

    scripts: frozenset[str] | None = None
    languages: frozenset[str] | None = None


def test_there_are_texts_of_every_language() -> None:
    assert TEXTS.keys() == KNOWN


@pytest.mark.parametrize(("code", "text"), CASES)
def test_its_own_language_is_told(code: str, text: str) -> None:
    alike = {"da": {"da", "no", None}, "no": {"da", "no", None}}
    assert language(text) in alike.get(code, {code})
    assert language(unicodedata.normalize("NFD", text)) == language(text)


@pytest.mark.parametrize(("code", "text"), CASES)
def test_a_model_has_a_say_on_its_own_languages(code: str, text: str) -> None:
    assert knows(frozenset({code}), text)
    assert knows(frozenset({code, "en"}), text)
    assert knows(frozenset({"en"}), text) is (code == "en")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "aspirin stroke",
        "Who was Johann Wolfgang von Goethe?",
        "When did Gerhard Schröder leave office?",
        "van der Waals forces",
        "Los Angeles de la Cruz",
        "Die Hard box office",
        "La Niña and El Niño",
        "São Paulo population",
        "Vitamin D deficiency affects birth weight.",
        "Do older patients receive adequate stroke care?",
        "N348I mutations cause resistance to zidovudine (AZT).",
        "| State | Federal | 2019 |\n| Income tax | 1,139 | 428 |",
        "def load(path): return [row for row in open(path)]",
    ],
)
def test_english_and_what_tells_nothing_are_english_enough(text: str) -> None:
    assert knows(frozenset({"en"}), text)


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("Гарантия на пресс", "ru", "el"),
        ("印刷機の保証期間は", "ja", "ko"),
        ("保修期多长", "zh", "ko"),
        ("الضمان", "ar", "he"),
    ],
)
def test_other_scripts_belong_to_the_languages_written_in_them(text: str, known: str, unknown: str) -> None:
    assert knows(frozenset({known}), text)
    assert not knows(frozenset({unknown, "en"}), text)


def test_a_model_without_limits_covers_everything() -> None:
    german = TEXTS["de"][0]
    assert covers(object(), german)
    assert covers(Model(), german)
    assert covers(Model(scripts=frozenset({"Latin"})), german)
    assert not covers(Model(scripts=frozenset({"Latin"}), languages=frozenset({"en"})), german)
    assert not covers(Model(scripts=frozenset({"Cyrillic"})), german)


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    assert language(text) in {None, *KNOWN}
    assert knows(KNOWN | {"ja"}, text) in (True, False)
    assert knows(None, text)
