"""Bytes become the text that was written, whatever the encoding; decoding never fails."""

from __future__ import annotations

import codecs
import gzip
import random
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.workspace.encoding import decode, is_binary
from tests.campaign import examples

GERMAN = "Die Größe der Straße beträgt — über „zehn“ Meter.\nSie wäre schön, daß es höher ist.\n"
RUSSIAN = "Привет, мир! Это обычный русский текст.\nОн нужен для проверки кодировки документа.\n"  # noqa: RUF001  # Russian
JAPANESE = "これは日本語の文章です。\n文字コードを検出できるか試します。\n"
CHINESE = "这是一个用于测试编码检测的中文文档。\n它包含一些句子。\n"
TRADITIONAL = "這是一個用於測試編碼檢測的中文文件。\n它包含一些句子。\n"
KOREAN = "이것은 인코딩 감지를 시험하기 위한 한국어 문서입니다.\n"
POLISH = "Zażółć gęślą jaźń.\nTo jest zwykły polski tekst, który służy do sprawdzenia.\n"
GREEK = "Αυτό είναι ένα ελληνικό κείμενο για τον έλεγχο της κωδικοποίησης.\n"  # noqa: RUF001  # Greek
HEBREW = "זהו מסמך בעברית לבדיקת זיהוי הקידוד של הטקסט.\n"
ARABIC = "هذا مستند باللغة العربية لاختبار كشف الترميز\n"
ENGLISH = "# Heading\n\nPlain English words come first in this file.\n" * 30

LEGACY = [
    (GERMAN, "cp1252"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (CHINESE, "gb18030"),
    (TRADITIONAL, "big5"),
    (KOREAN, "euc_kr"),
    (POLISH, "iso8859-2"),
    (GREEK, "cp1253"),
    (HEBREW, "cp1255"),
    (ARABIC, "cp1256"),
]


@pytest.mark.parametrize(("text", "encoding"), LEGACY)
@pytest.mark.parametrize("before", ["", ENGLISH])
def test_legacy_encodings_are_detected(text: str, encoding: str, before: str) -> None:
    assert decode((before + text * 3).encode(encoding)).text == before + text * 3


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("La città è bella.", "cp1252"),
        ("Perché no?", "cp1252"),
        ("È così.", "cp1252"),
        ("Il caffè è già pronto, però il tè no.", "cp1252"),
        ("Perché è così difficile? La città è più bella.", "cp1252"),
        ("Привет, world! Python и Linux.", "cp1251"),
        ("Ответ: API-сервер и web-клиент работают.", "cp1251"),
    ],
)
def test_a_short_text_is_not_taken_for_one_that_changes_script_within_words(
    text: str, encoding: str
) -> None:
    assert decode(text.encode(encoding)).text == text


@pytest.mark.parametrize(
    "text",
    [
        "café au lait, naïve",
        "Résumé of the naïve café owner",
        "// by Muñoz, for Noël",
        "El Niño",
        "voilà, à la carte",
        "§ 5 Abs. 2",
        "½ cup at 50 °C in 10 µs",
        "“Tromsø” 5 €",
    ],
)
def test_a_few_western_accents_are_not_taken_for_rarer_letters(text: str) -> None:
    assert decode(f"{ENGLISH}{text}\n".encode("cp1252")).text == f"{ENGLISH}{text}\n"
    assert decode(text.encode("cp1252")).text == text


WINDOWS = [
    "He said “hello” – it’s a naïve café… £5.",  # noqa: RUF001  # as Windows types it
    "price;€ 5,00;naïve",
    "a cœur, “voilà” – l’œuvre de sa sœur",  # noqa: RUF001  # as Windows types it
    "¿Qué? ¡Hola! Año nuevo, mañana será señor",
    "100 ¥, £20, 30 ¢ © 2020 ®",
    "¶ one\n§ two\n© three\n® four ¢ ¥ ¬ × ÷",
    "20°C – 30°C, 5×5 mm², ±3",  # noqa: RUF001  # as Windows types it
    "Rolltop™ and ® signs • bullets",
    "São Paulo é uma cidade ótima, não é? Coração, maçã, avó.",
    "Rua da Conceição, 5º andar, 3ª porta",
]
LATIN_1 = [
    "# Copyright © 2019 José Núñez\nx = 'naïve'",
    "# Copyright © 2019 José Núñez, François Dupré\ndef f():\n    return 'naïve'  # déjà vu",
    "Ginés Hernández, Iñaki Pérez, Ángel Muñoz: 2019-2021",
    "Håkan Öberg <hakan@x.se>\nfixed by Jürgen Müller, Søren Kierkegård, Renée Élodie",
]
LATIN_9 = [
    "Un cœur brisé coûte 5 €",
    "cœur 5 €",
    "une œuvre à 20 €",
    "Œuvres complètes: 10 €",
    "5 €",
]


@pytest.mark.parametrize("times", [1, 5, 200])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, "cp1252") for text in WINDOWS),
        *((text, "iso8859-1") for text in LATIN_1),
        *((text, "iso8859-15") for text in LATIN_9),
    ],
)
def test_western_text_is_read_with_its_own_letters_and_signs(
    text: str, encoding: str, times: int
) -> None:
    assert decode(f"{text}\n".encode(encoding) * times).text == f"{text}\n" * times


@pytest.mark.parametrize("times", [1, 5, 200])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("To jest „zwykły” polski – tekst, który służy do sprawdzenia.", "cp1250"),  # noqa: RUF001  # as Windows types it
        ("Řekl „ano“ – a šel domů… Petra Žižková", "cp1250"),  # noqa: RUF001  # as Windows types it
        ("Árvíztűrő tükörfúrógép", "cp1250"),
        ("Árvíztűrő tükörfúrógép", "iso8859-2"),
        ("Şişli'de “güneşli” bir gün – ığdır çağ", "cp1254"),  # noqa: RUF001  # as Windows types it
        ("Он сказал: «да» – и ушёл…", "cp1251"),  # noqa: RUF001  # Russian
        ("Καλημέρα “κόσμε” – είπε", "cp1253"),  # noqa: RUF001  # Greek
    ],
)
def test_text_of_others_keeps_its_letters_beside_quotes_and_dashes(
    text: str, encoding: str, times: int
) -> None:
    assert decode(f"{text}\n".encode(encoding) * times).text == f"{text}\n" * times


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Łukasz Żak", "cp1250"),
        ("Petra Žižková", "cp1250"),
        ("ığdır", "cp1254"),  # noqa: RUF001  # Turkish
        ("Привет", "cp1251"),
        ("да", "cp1251"),
        ("ไทย", "cp874"),
    ],
)
def test_a_few_other_letters_are_not_taken_for_western_ones(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)).text == text


EAST_ASIAN = [
    (JAPANESE, "shift_jis"),
    (JAPANESE, "cp932"),
    (JAPANESE, "euc_jp"),
    (CHINESE, "gbk"),
    (CHINESE, "gb18030"),
    (TRADITIONAL, "big5"),
    (KOREAN, "euc_kr"),
]


@pytest.mark.parametrize(("text", "encoding"), EAST_ASIAN)
@pytest.mark.parametrize("before", ["", "x", "key=", "A title of a few words: " * 12])
@pytest.mark.parametrize("times", [3, 4, 50, 1_000])
def test_a_long_line_is_detected(text: str, encoding: str, before: str, times: int) -> None:
    line = f"{before}{text.replace(chr(10), '') * times}\n"
    assert decode(line.encode(encoding)).text == line


@pytest.mark.parametrize(("text", "encoding"), EAST_ASIAN)
def test_text_cut_inside_a_character_keeps_its_encoding(text: str, encoding: str) -> None:
    decoded = decode((text * 3 + text[0]).encode(encoding)[:-1])
    assert decoded.text == text * 3 + "\ufffd"
    assert not decoded.is_exact


@pytest.mark.parametrize(("text", "encoding"), EAST_ASIAN)
@pytest.mark.parametrize("damage", [b"\xff", b"\x80\xff", b""])
@pytest.mark.parametrize("times", [10, 3_000])
def test_a_damaged_character_spoils_its_line_alone(
    text: str, encoding: str, damage: bytes, times: int
) -> None:
    data = (text * times).encode(encoding)
    end = data.index(b"\n", len(data) // 2)
    decoded = decode(data[: end - 3] + damage + data[end - 2 :])
    lines = (text * times).split("\n")
    spoilt = data.count(b"\n", 0, end)
    found = decoded.text.split("\n")
    assert len(found) == len(lines)
    assert [number for number, line in enumerate(found) if line != lines[number]] == [spoilt]


def test_a_byte_that_an_encoding_lacks_spoils_its_character_alone() -> None:
    decoded = decode(RUSSIAN.encode("cp1251") * 2_000 + b"\x98" + RUSSIAN.encode("cp1251"))
    assert decoded.text == RUSSIAN * 2_000 + "\ufffd" + RUSSIAN


def test_a_damaged_byte_far_from_all_that_is_not_ascii_leaves_it_utf8() -> None:
    decoded = decode(ENGLISH.encode() + b"\xe9 " + ENGLISH.encode() * 40 + GERMAN.encode() * 40)
    assert decoded.text == ENGLISH + "\ufffd " + ENGLISH * 40 + GERMAN * 40


@pytest.mark.parametrize("damage", [b"\x8f", b"\x810", b"\x810\x81", b"\xe3\x81", b"\x81"])
@pytest.mark.parametrize(("text", "encoding"), [*EAST_ASIAN, (GERMAN, "utf-8")])
def test_damage_before_the_last_line_break_leaves_it(
    text: str, encoding: str, damage: bytes
) -> None:
    decoded = decode(text.encode(encoding) * 20 + damage + b"\n")
    assert decoded.text.startswith(text * 20)
    assert decoded.text.endswith("\n")


@pytest.mark.parametrize("text", ["café", "Perché", "Él lo dejó", "déjà, là-bas, à côté"])
def test_a_last_accent_is_not_taken_for_half_a_character(text: str) -> None:
    assert decode(text.encode("cp1252")).text == text


def test_a_large_legacy_file_is_read_whole() -> None:
    text = ENGLISH * 2_000 + GERMAN
    assert decode(text.encode("cp1252")).text == text


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (GERMAN.encode(), "utf-8"),
        (codecs.BOM_UTF8 + GERMAN.encode(), "utf-8-sig"),
        (GERMAN.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + GERMAN.encode("utf-16-be"), "utf-16"),
        (GERMAN.encode("utf-16-le"), "utf-16-le"),
        (GERMAN.encode("utf-16-be"), "utf-16-be"),
        (GERMAN.encode("utf-32"), "utf-32"),
    ],
)
def test_unicode_is_read_with_and_without_a_mark(data: bytes, encoding: str) -> None:
    decoded = decode(data)
    assert (decoded.text, decoded.encoding, decoded.is_exact) == (GERMAN, encoding, True)
    assert not is_binary(data)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_plain_utf16_without_a_mark_is_not_read_as_utf8_with_nuls(encoding: str) -> None:
    text = "Only letters of ASCII.\r\n" * 1000
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.is_exact) == (text, encoding, True)
    assert decode(text.encode(encoding) + b"x").text == text + "\ufffd"


@pytest.mark.parametrize("text", [RUSSIAN, GREEK, HEBREW, ARABIC, KOREAN, "Привет, мир!\r\n"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_read_in_other_scripts_too(text: str, encoding: str) -> None:
    for whole in (text, text * 200):
        data = whole.encode(encoding)
        assert (decode(data).text, decode(data).encoding) == (whole, encoding)
        assert not is_binary(data)


@pytest.mark.parametrize(
    "data",
    [
        b"python3\0script.py\0" * 9,
        b"Some words of a text with one\0in it.\n" * 9,
        struct.pack("<900H", *range(600, 1500)) + b"\0\0",
        random.Random(3).randbytes(9_000),  # noqa: S311  # no secret
    ],
)
def test_what_is_spelled_by_accident_is_binary(data: bytes) -> None:
    assert is_binary(data)


def test_marks_alone_are_empty_text() -> None:
    for mark in (b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        assert decode(mark).text == ""


def test_one_damaged_character_does_not_turn_utf8_into_something_else() -> None:
    decoded = decode(GERMAN.encode() * 20 + b"\xff broken " + RUSSIAN.encode() * 20)
    assert decoded.text == GERMAN * 20 + "\ufffd broken " + RUSSIAN * 20
    assert (decoded.encoding, decoded.is_exact) == ("utf-8", False)


def test_a_damaged_line_does_not_turn_text_with_a_mark_into_something_else() -> None:
    text = "# Titel\n\nGrüße aus Köln, schöne Straße\n"
    decoded = decode(text.encode("utf-8-sig") + "Grüße\n".encode("latin-1"))
    assert decoded.text.startswith(text)
    assert not decoded.is_exact


def test_text_cut_inside_a_character_stays_utf8() -> None:
    decoded = decode(RUSSIAN.encode()[:-2])
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith("Привет")


def test_odd_utf16_is_read_with_the_damage_shown() -> None:
    decoded = decode(GERMAN.encode("utf-16") + b"x")
    assert decoded.text == GERMAN + "\ufffd"
    assert not decoded.is_exact


@settings(max_examples=examples(300), deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_decode(data: bytes) -> None:
    decoded = decode(data)
    assert isinstance(decoded.text, str)
    codecs.lookup(decoded.encoding)
    is_binary(data)


@settings(max_examples=examples(200), deadline=None)
@given(text=st.text(st.characters(codec="utf-8")))
def test_utf8_always_comes_back(text: str) -> None:
    decoded = decode(b"x" + text.encode())
    if "\0" not in text:
        assert decoded.text == "x" + text


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x02\x01\x01" + bytes(50),
        b"%PDF-1.7\n%text",
        b"\x89PNG\r\n\x1a\n",
        gzip.compress(b"text", mtime=0),
        b"PK\x03\x04rest",
        bytes(range(256)) * 4,
        b"text\0text",
        b"\x01\x02\x03\x04" * 40,
    ],
)
def test_binary_data_is_told_from_text(data: bytes) -> None:
    assert is_binary(data)


@pytest.mark.parametrize(
    "data", [b"", b"plain\n", b"\x1b[31mred\x1b[0m\n", b"\x0cpage\n", GERMAN.encode("cp1252")]
)
def test_text_is_not_binary(data: bytes) -> None:
    assert not is_binary(data)


def test_importing_the_module_loads_no_detector() -> None:
    program = "import sys, rolltop.workspace.encoding; sys.exit('chardet' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
