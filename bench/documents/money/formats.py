"""Formats of banks: CAMT.053, MT940, OFX and QIF, as banks of several countries write them."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from bench.documents.case import Case
from bench.documents.money.movements import Account, Movement, an_account
from bench.documents.money.statements import is_kept


def formats() -> Iterator[Case]:
    """Each format as two countries write it, twice."""
    for name, country, file_name, write, fields in _FORMATS:
        for seed in (10, 11):
            account = an_account(country, seed)
            yield Case(
                group="statement",
                name=f"{name}-{seed}",
                file_name=file_name,
                data=write(account),
                truth=[_true(account, each, fields) for each in account.movements],
                kept=is_kept(f"{name}-{seed}"),
            )


def _true(account: Account, each: Movement, fields: str) -> dict[str, Any]:
    values = {
        "date": each.booked.isoformat(),
        "value_date": each.value.isoformat(),
        "amount": float(each.amount),
        "currency": account.currency,
        "merchant_name": each.party,
        "description": each.purpose,
        "account_id": account.iban,
        "transaction_id": _reference(each),
    }
    return {"entity_type": "transaction"} | {name: values[name] for name in fields.split()}


def _reference(each: Movement) -> str:
    return f"{each.booked:%Y%m%d}{each.number:06}"


def _camt(version: str) -> Callable[[Account], bytes]:
    def write(account: Account) -> bytes:
        space = f"urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}"
        entries = "".join(_entry(account, each, version) for each in account.movements)
        first, last = account.movements[0], account.movements[-1]
        balances = "".join(
            f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>"
            f'<Amt Ccy="{account.currency}">{amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd>'
            f"<Dt><Dt>{day}</Dt></Dt></Bal>"
            for code, amount, day in (
                ("OPBD", account.opening, first.booked),
                ("CLBD", last.balance, last.booked),
            )
        )
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="{space}"><BkToCstmrStmt>'
            "<GrpHdr><MsgId>M1</MsgId><CreDtTm>2024-10-01T04:00:00</CreDtTm></GrpHdr><Stmt>"
            f"<Id>S1</Id><Acct><Id><IBAN>{account.iban}</IBAN></Id><Ccy>{account.currency}</Ccy>"
            f"</Acct>{balances}{entries}</Stmt></BkToCstmrStmt></Document>"
        ).encode()

    return write


def _entry(account: Account, each: Movement, version: str) -> str:
    side, role = ("CRDT", "Dbtr") if each.amount > 0 else ("DBIT", "Cdtr")
    party = f"<Nm>{escape(each.party)}</Nm>"
    party = f"<Pty>{party}</Pty>" if version == "08" else party
    status = "<Sts><Cd>BOOK</Cd></Sts>" if version == "08" else "<Sts>BOOK</Sts>"
    return (
        f'<Ntry><Amt Ccy="{account.currency}">{abs(each.amount)}</Amt><CdtDbtInd>{side}</CdtDbtInd>'
        f"{status}<BookgDt><Dt>{each.booked}</Dt></BookgDt><ValDt><Dt>{each.value}</Dt></ValDt>"
        f"<AcctSvcrRef>{_reference(each)}</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>"
        f"NOTPROVIDED</EndToEndId></Refs><RltdPties><{role}>{party}</{role}></RltdPties><RmtInf>"
        f"<Ustrd>{escape(each.purpose)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
    )


def _mt940(*, structured: bool) -> Callable[[Account], bytes]:
    def write(account: Account) -> bytes:
        first, last = account.movements[0], account.movements[-1]
        lines = [
            ":20:STARTUMSE",
            f":25:{account.iban}",
            ":28C:00001/001",
            f":60F:{_balance(account, account.opening, first)}",
        ]
        for each in account.movements:
            side = "C" if each.amount > 0 else "D"
            lines.append(
                f":61:{each.value:%y%m%d}{each.booked:%m%d}{side}{_mt(abs(each.amount))}"
                f"NMSCNONREF//{_reference(each)}"
            )
            if structured:
                lines.append(f":86:005?00LASTSCHRIFT?20SVWZ+{each.purpose}?32{each.party}")
            else:
                lines.append(f":86:{each.party} {each.purpose}")
        lines += [f":62F:{_balance(account, last.balance, last)}", "-"]
        return "\r\n".join(lines).encode("cp1252")

    return write


def _balance(account: Account, amount: Decimal, each: Movement) -> str:
    return f"C{each.booked:%y%m%d}{account.currency}{_mt(amount)}"


def _mt(amount: Decimal) -> str:
    return f"{amount:.2f}".replace(".", ",")


def _ofx(*, xml: bool) -> Callable[[Account], bytes]:
    def write(account: Account) -> bytes:
        def leaf(name: str, value: object) -> str:
            return f"<{name}>{escape(str(value))}" + (f"</{name}>" if xml else "\r\n")

        lines = "".join(
            "<STMTTRN>"
            + leaf("TRNTYPE", "CREDIT" if each.amount > 0 else "DEBIT")
            + leaf("DTPOSTED", f"{each.booked:%Y%m%d}120000[-5:EST]")
            + leaf("TRNAMT", each.amount)
            + leaf("FITID", _reference(each))
            + leaf("NAME", each.party)
            + leaf("MEMO", each.purpose)
            + "</STMTTRN>\r\n"
            for each in account.movements
        )
        head = (
            '<?xml version="1.0" encoding="UTF-8"?>\r\n<?OFX OFXHEADER="200" VERSION="211"'
            ' SECURITY="NONE" OLDFILEUID="NONE" NEWFILEUID="NONE"?>\r\n'
            if xml
            else "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nSECURITY:NONE\r\n"
            "ENCODING:USASCII\r\nCHARSET:1252\r\nCOMPRESSION:NONE\r\nOLDFILEUID:NONE\r\n"
            "NEWFILEUID:NONE\r\n\r\n"
        )
        body = (
            "<OFX><BANKMSGSRSV1><STMTTRNRS>"
            + leaf("TRNUID", 1)
            + "<STMTRS>"
            + leaf("CURDEF", account.currency)
            + "<BANKACCTFROM>"
            + leaf("BANKID", "021000021")
            + leaf("ACCTID", account.iban)
            + leaf("ACCTTYPE", "CHECKING")
            + "</BANKACCTFROM><BANKTRANLIST>"
            + lines
            + "</BANKTRANLIST><LEDGERBAL>"
            + leaf("BALAMT", account.movements[-1].balance)
            + leaf("DTASOF", "20240930")
            + "</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
        )
        return (head + body).encode("utf-8" if xml else "cp1252")

    return write


def _qif(day: str) -> Callable[[Account], bytes]:
    def write(account: Account) -> bytes:
        lines = ["!Type:Bank"]
        for each in account.movements:
            lines += [
                f"D{each.booked.strftime(day)}",
                f"T{each.amount:,.2f}",
                f"P{each.party}",
                f"M{each.purpose}",
                "^",
            ]
        return "\n".join(lines).encode()

    return write


_ALL = "date value_date amount currency merchant_name description account_id transaction_id"
_BOOKED = "date amount currency merchant_name description account_id transaction_id"
_FORMATS: tuple[tuple[str, str, str, Callable[[Account], bytes], str], ...] = (
    ("de-camt-02", "DE", "statement.xml", _camt("02"), _ALL),
    ("ch-camt-08", "CH", "statement.xml", _camt("08"), _ALL),
    ("de-mt940", "DE", "statement.sta", _mt940(structured=True), _ALL),
    (
        "nl-mt940",
        "NL",
        "statement.940",
        _mt940(structured=False),
        "date value_date amount currency",
    ),
    ("us-ofx-sgml", "US", "statement.qfx", _ofx(xml=False), _BOOKED),
    ("fr-ofx-xml", "FR", "statement.ofx", _ofx(xml=True), _BOOKED),
    ("us-qif", "US", "statement.qif", _qif("%m/%d/%Y"), "date amount merchant_name description"),
    ("gb-qif", "GB", "statement.qif", _qif("%d/%m/%Y"), "date amount merchant_name description"),
)
