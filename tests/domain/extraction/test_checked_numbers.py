"""Numbers with check digits or lengths of their own: mistyped ones are not taken."""

import re

import pytest

from canonry.documents.extraction.kinds import ibans_in, phones_in, tax_ids_in

TAXED = """
ATU13585627 BE0403019261 BE0411905847 BG175074752 CY10259033P CZ25123891 DE136695976 DE129273398
DK13585628 EE100931558 EL094259216 ESB64717838 ESB58378431 FI20774740 FR40303265045
FR83404833048 HR33392005961 HU12892312 IE6433435F IT00743110157 LT119511515 LU15027442
LV40003521600 MT11679112 NL004495445B01 PL8567346215 PT501964843 RO18547290 SE556188840401
SI50223054 SK2022749619 GB980780684 CHE107787577 NO995525828MVA
"""
ACCOUNTS = """
DE89370400440532013000 GB29NWBK60161331926819 FR1420041010050500013M02606 CH9300762011623852957
AT611904300234573201 NL91ABNA0417164300 ES9121000418450200051332 IT60X0542811101000000123456
BE68539007547034 PL61109010140000071219812874 SE4550000000058398257466 NO9386011117947
DK5000400440116243 FI2112345600000785 IE29AIBK93115212345678 PT50000201231234567890154
LU280019400644750000 GR1601101250000000012300695 CZ6508000000192000145399
HU42117730161111101800000000 RO49AAAA1B31007593840000 SK3112000000198742637541
SI56263300012039086 HR1210010051863000160 BG80BNBG96611020345678 EE382200221020145685
LV80BANK0000435195001 LT121000011101001000 MT84MALT011000012345MTLCAST001S
CY17002001280000001200527600
"""
TELEPHONES = """
+49 30 1234567 | +49 (0)30 1234567 | +44 20 7946 0958 | +1 (212) 555-0100
+1.212.555.0100 | +33 1 23 45 67 89 | +39 06 1234 5678 | +41 44 668 18 00
+43 1 515 50-0 | +43/1/51550 | +34 912 345 678 | +351 21 123 4567
+31 (0)20-1234567 | +32 2 123 45 67 | +48 22 123 45 67 | +420 222 123 456
+46 8-123 456 78 | +47 22 12 34 56 | +45 32 12 34 56 | +358 9 1234567
+353 1 123 4567 | +91 98765 43210 | +86 10 6552 9988 | +81 3-1234-5678
+82 2-312-3456 | +61 2 9374 4000 | +64 9 887 0100 | +27 21 123 4567
+55 11 91234-5678 | +7 495 123-45-67
"""


def mistype_number(number: str) -> str:
    """The number with one digit in its middle changed."""
    place = [at for at, char in enumerate(number) if char.isdigit()][4]
    return f"{number[:place]}{(int(number[place]) + 1) % 10}{number[place + 1 :]}"


def with_check(country: str, rest: str) -> str:
    """An account number with right check digits, whatever its length."""
    return next(
        number
        for check in range(2, 99)
        if (number := f"{country}{check:02}{rest}")
        and int(re.sub("[A-Z]", lambda each: str(int(each[0], 36)), rest + number[:4])) % 97 == 1
    )


@pytest.mark.parametrize("number", TAXED.split())
def test_a_tax_number_needs_valid_check_digits(number: str) -> None:
    assert tax_ids_in(f"VAT {number} BIC X, again {number[:2]} {number[2:]}") == (number,)
    assert tax_ids_in(f"VAT no.: {mistype_number(number)}") == ()


@pytest.mark.parametrize("number", ACCOUNTS.split())
def test_an_account_number_needs_a_valid_length_and_check_digits(
    number: str,
) -> None:
    groups = " ".join(number[at : at + 4] for at in range(0, len(number), 4))
    country, rest = number[:2], number[4:]
    for written in (number, f"IBAN {groups} BIC ABCDEFGH", f"IBAN: {groups}, {number}"):
        assert ibans_in(written) == (number,)
    for wrong in (
        mistype_number(number),
        with_check(country, rest[:-1]),
        with_check(country, f"{rest}0"),
    ):
        assert ibans_in(wrong) == ()


@pytest.mark.parametrize("number", re.split(r" \| |\n", TELEPHONES.strip()))
def test_a_national_telephone_number_is_accepted_as_written(number: str) -> None:
    assert phones_in(f"Tel. {number}, 9-17") == (number,)


@pytest.mark.parametrize(
    "text",
    ["+999 123 456 789", "+0 123 456 789", "+1 212 555", "+49 30 123456789012345", "+12+345"],
)
def test_an_unassigned_number_is_no_telephone(text: str) -> None:
    assert phones_in(f"Tel. {text}") == ()
