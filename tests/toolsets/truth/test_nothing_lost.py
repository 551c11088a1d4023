"""Nothing is lost: each text of a file is in a field, a fragment, a passage or a member, or noted.

The files hold words that begin with `zq` and end with `x`, one at each place for a text.
"""

import base64
import json
import re
from typing import Any

import pytest

from canonry.canon.ports.files import FileHint, FileType
from canonry.documents.readers import LocalReader
from tests.adapters.readers.office import a_letter, a_workbook, an_archive, with_part
from tests.adapters.readers.outlook import a_saved_message
from tests.adapters.readers.paper import a_pdf, with_file
from tests.toolsets.truth.kit import make_driver

pytestmark = pytest.mark.anyio

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:zqcalendarx
X-WR-CALDESC:zqcaldescx
BEGIN:VEVENT
UID:zquidx
DTSTAMP:20240501T100000Z
DTSTART:20240603T180000Z
SUMMARY;LANGUAGE=en:zqsummaryx
DESCRIPTION:zqdescx
COMMENT:zqcommentx
COMMENT:zqothercommentx
CONTACT:zqcontactx
ATTENDEE;CN=zqattendeex;ROLE=zqchairx;PARTSTAT=zqacceptedx:mailto:a@x.example
ORGANIZER;CN=zqorganizerx:mailto:o@x.example
ATTACH:https://x.example/zqattachx
X-CUSTOM:zqcustomx
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT15M
DESCRIPTION:zqalarmx
END:VALARM
END:VEVENT
BEGIN:VTODO
UID:t1
DTSTAMP:20240501T100000Z
SUMMARY:zqtodox
DESCRIPTION:zqtododescx
RELATED-TO:zqrelatedx
END:VTODO
BEGIN:VJOURNAL
UID:j1
DTSTAMP:20240501T100000Z
SUMMARY:zqjournalx
END:VJOURNAL
BEGIN:VFREEBUSY
UID:f1
DTSTAMP:20240501T100000Z
COMMENT:zqbusyx
END:VFREEBUSY
END:VCALENDAR
"""
CARD = """BEGIN:VCARD
VERSION:4.0
FN:zqnamex
FN:zqothernamex
N:zqfamilyx;zqgivenx;zqmiddlex;zqprefixx;
TEL;TYPE="zqkindx,voice";X-SERVICE=zqservicex:+49 30 1234
item1.EMAIL:b@x.example
item1.X-ABLabel:zqlabelx
item2.ADR;LABEL="zqaddresslabelx":;;Street;Town;;;
EMAIL:zqmailx@x.example
NOTE:zqnotex
NOTE:zqothernotex
TZ:zqzonex
TITLE:zqtitlex
TITLE:zqothertitlex
ROLE:zqrolex
ORG:zqorgx;zqunitx;zqteamx
ADR:zqboxx;zqextx;zqstreetx;zqcityx;;;zqlandx
X-FOO:zqfoox
MEMBER:zqmemberx
END:VCARD
"""
PAGE = """<html><head><title>zqtitlex</title></head><body><!-- zqcommentx -->
<h1>zqheadx</h1><p>zqparax <img src="a.png" alt="zqaltx"> <a href="https://x.example">zqlinkx</a>
<textarea>zqareax</textarea><select><option>zqoptionx</option></select>
<table><caption>zqcaptionx</caption><tr><th>zqthx</th></tr><tr><td>zqtdx</td></tr></table>
<details><summary>zqsumx</summary>zqdetailx</details><s>zqstruckx</s></p></body></html>
"""
MAIL = """From: zqfromx <a@x.example>
To: zqtox <b@x.example>
Cc: zqccx <c@x.example>
Reply-To: zqreplyx <r@x.example>
Organization: zqorganizationx
X-Gmail-Labels: zqgmailx
Received: from zqrelayx by x.example; Mon, 13 May 2024 09:00:00 +0000
Subject: zqsubjectx
Date: Mon, 13 May 2024 09:00:00 +0000
Message-ID: <zqidx@x>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain

zqplainx

> zqquotedx
--c
Content-Type: text/html

<p>zqplainx</p>
--c--
--b
Content-Type: text/plain
Content-Disposition: attachment; filename="zqfilex.txt"

zqattachedx
--b
Content-Type: text/plain

zqbelowx
--b
Content-Type: text/html

<p>zqpagex</p>
--b
Content-Type: image/png
Content-ID: <logo>
Content-Disposition: inline; filename=zqlogox.png
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--b--
"""
NOTE = """---
title: zqtitlex
zqkeyx: zqvaluex
list: [zqitemx]
nest: {a: {b: zqnestx}}
---
# zqheadx

<!-- zqcommentx -->
![zqaltx](https://x.example/zqimagex.png "zqimagetitlex") [zqlinkx](https://x.example/zqurlx)

[^1]: zqfootx

> zqquotex

```
zqcodex
```

| a | b |
|---|---|
| zqleftx | zqrightx |
"""
MT940 = """:20:zqstatementx
:21:zqrelatedx
:25:DE02120300000000202051EUR
:28C:zqnumberx
:60F:C240101EUR100,00
:61:2401020102D5,00NTRFzqownx//zqbankx
zqmorex
:86:166?00zqbookingx?10zqprimax?20EREF+zqerefx?21MREF+zqmrefx?22CRED+zqcredx?23KREF+zqkrefx
?24SVWZ+zqpurposex?25ABWA+zqabwax?30zqbicx?31zqibanx?32zqnamex?33y?34zqkeyx?60zqlastx
:61:2401030103C5,00NMSCNONREF
:86:/TRTP/zqtrtpx/IBAN/zqpayersx/NAME/zqpayerx/REMI/zqremix/EREF/zqidx/ORDP/zqordpx
:62F:C240131EUR100,00
:64:C240131EUR100,00
:86:zqtailx
-
"""
MT942 = """:20:zqreportx
:25:NL91ABNA0417164300
:28C:1
:34F:EUR0,
:13D:2401021200+0100
:61:2401020102C7,00NTRFzqownx
:86:zqpurposex
:90C:1EUR7,00
:86:zqtailx
-
"""
CAMT = """<?xml version="1.0"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<GrpHdr><MsgId>zqmsgx</MsgId><AddtlInf>zqheadx</AddtlInf></GrpHdr>
<Stmt><Id>zqstmtx</Id><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id>
<Ownr><Nm>zqownerx</Nm></Ownr><Svcr><FinInstnId><Nm>zqservicerx</Nm></FinInstnId></Svcr></Acct>
<AddtlStmtInf>zqstmtinfox</AddtlStmtInf>
<Ntry><NtryRef>zqntryrefx</NtryRef><Amt Ccy="EUR">5</Amt><CdtDbtInd>DBIT</CdtDbtInd>
<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2024-01-02</Dt></BookgDt><AcctSvcrRef>zqsvcrx</AcctSvcrRef>
<BkTxCd><Prtry><Cd>zqcodex</Cd><Issr>zqissuerx</Issr></Prtry></BkTxCd>
<NtryDtls><TxDtls><Refs><EndToEndId>zqendx</EndToEndId><MndtId>zqmndx</MndtId>
<ChqNb>zqchequex</ChqNb></Refs>
<RltdPties><Cdtr><Pty><Nm>zqcreditorx</Nm><PstlAdr><AdrLine>zqaddressx</AdrLine></PstlAdr></Pty>
</Cdtr><CdtrAcct><Id><IBAN>zqibanx</IBAN></Id></CdtrAcct>
<UltmtCdtr><Pty><Nm>zqultimatex</Nm></Pty></UltmtCdtr></RltdPties>
<RltdAgts><CdtrAgt><FinInstnId><BICFI>zqbicx</BICFI></FinInstnId></CdtrAgt></RltdAgts>
<Purp><Cd>zqpurpx</Cd></Purp><RmtInf><Ustrd>zqustrdx</Ustrd><Ustrd>zqotherustrdx</Ustrd>
<Strd><CdtrRefInf><Ref>zqrefx</Ref></CdtrRefInf><AddtlRmtInf>zqaddlrmtx</AddtlRmtInf></Strd>
</RmtInf><AddtlTxInf>zqaddltxx</AddtlTxInf></TxDtls></NtryDtls>
<AddtlNtryInf>zqaddlntryx</AddtlNtryInf></Ntry>
<Ntry><Amt Ccy="EUR">9</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>PDNG</Sts>
<AddtlNtryInf>zqpendingx</AddtlNtryInf></Ntry>
</Stmt></BkToCstmrStmt></Document>
"""
OFX = """OFXHEADER:100
DATA:OFXSGML

<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>0<SEVERITY>INFO<MESSAGE>zqhellox</STATUS>
<FI><ORG>zqorgx</FI></SONRS></SIGNONMSGSRSV1><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>EUR
<BANKACCTFROM><BANKID>zqbankx<ACCTID>0042<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST>
<STMTTRN><TRNTYPE>CHECK<DTPOSTED>20240130<TRNAMT>-46.10<FITID>zqfitidx<CHECKNUM>zqchecknumx
<REFNUM>zqrefnumx<SIC>zqsicx<PAYEEID>zqpayeeidx<NAME>zqnamex<EXTDNAME>zqextendedx<MEMO>zqmemox
<BANKACCTTO><BANKID>zqbanktox<ACCTID>zqaccttox</BANKACCTTO></STMTTRN>
<STMTTRN><TRNTYPE>FEE<DTPOSTED>20240131<TRNAMT>-1<FITID>2
<PAYEE><NAME>zqpayeex<ADDR1>zqaddrx<CITY>zqcityx</PAYEE></STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>10<DTASOF>20240131</LEDGERBAL><MKTGINFO>zqmarketingx
</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
"""
QIF = """!Account
Nzqaccountx
Dzqaboutx
^
!Type:Bank
D01/30/2024
T-46.10
Pzqpayeex
Mzqmemox
Nzqnumberx
Lzqcategoryx
Azqstreetx
Azqcityx
Szqsplitx
Ezqsplitmemox
$-40.00
Szqothersplitx
Ezqothermemox
$-6.10
Fzqflagx
^
!Type:Cat
Nzqcatx
Dzqcataboutx
^
!Type:Invst
D01/30/2024
Yzqsecurityx
^
"""
UBL = """<?xml version="1.0"?>
<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2">
<CustomizationID>zqspecx</CustomizationID><ID>zqinvoicex</ID><IssueDate>2024-01-02</IssueDate>
<InvoiceTypeCode>380</InvoiceTypeCode><Note>zqnotex</Note><Note>zqothernotex</Note>
<DocumentCurrencyCode>EUR</DocumentCurrencyCode><BuyerReference>zqbuyerrefx</BuyerReference>
<ContractDocumentReference><ID>zqcontractx</ID></ContractDocumentReference>
<AccountingSupplierParty><Party><PartyName><Name>zqshopx</Name></PartyName>
<PostalAddress><StreetName>zqstreetx</StreetName><CityName>zqcityx</CityName></PostalAddress>
<PartyLegalEntity><RegistrationName>zqvendorx</RegistrationName></PartyLegalEntity>
<Contact><Name>zqclerkx</Name><ElectronicMail>zqmailx@x.example</ElectronicMail></Contact></Party>
</AccountingSupplierParty><AccountingCustomerParty><Party><PartyLegalEntity>
<RegistrationName>zqcustomerx</RegistrationName></PartyLegalEntity></Party>
</AccountingCustomerParty><Delivery><DeliveryLocation><Address><CityName>zqplacex</CityName>
</Address></DeliveryLocation></Delivery><PaymentMeans><PaymentID>zqpaymentx</PaymentID>
<PayeeFinancialAccount><ID>zqibanx</ID><Name>zqholderx</Name></PayeeFinancialAccount>
</PaymentMeans><AllowanceCharge><AllowanceChargeReason>zqreasonx</AllowanceChargeReason>
<Amount currencyID="EUR">1</Amount></AllowanceCharge><LegalMonetaryTotal>
<TaxExclusiveAmount currencyID="EUR">10</TaxExclusiveAmount>
<PayableAmount currencyID="EUR">10</PayableAmount></LegalMonetaryTotal>
<InvoiceLine><ID>zqlineidx</ID><Note>zqlinenotex</Note>
<InvoicedQuantity unitCode="zqunitx">2</InvoicedQuantity>
<LineExtensionAmount currencyID="EUR">10</LineExtensionAmount><Item>
<Description>zqitemx</Description><Name>zqitemnamex</Name><SellersItemIdentification>
<ID>zqarticlex</ID></SellersItemIdentification></Item><Price>
<PriceAmount currencyID="EUR">5</PriceAmount></Price></InvoiceLine></Invoice>
"""
CII = """<?xml version="1.0"?>
<r:CrossIndustryInvoice xmlns:r="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100">
<r:ExchangedDocumentContext><r:BusinessProcessSpecifiedDocumentContextParameter>
<r:ID>zqprocessx</r:ID></r:BusinessProcessSpecifiedDocumentContextParameter>
</r:ExchangedDocumentContext><r:ExchangedDocument><r:ID>zqinvoicex</r:ID><r:TypeCode>380</r:TypeCode>
<r:IncludedNote><r:Content>zqnotex</r:Content><r:SubjectCode>zqsubjectx</r:SubjectCode>
</r:IncludedNote><r:IncludedNote><r:Content>zqothernotex</r:Content></r:IncludedNote>
</r:ExchangedDocument><r:SupplyChainTradeTransaction>
<r:IncludedSupplyChainTradeLineItem><r:AssociatedDocumentLineDocument><r:LineID>zqlinex</r:LineID>
</r:AssociatedDocumentLineDocument><r:SpecifiedTradeProduct><r:SellerAssignedID>zqarticlex
</r:SellerAssignedID><r:Name>zqitemx</r:Name><r:Description>zqitemtextx</r:Description>
</r:SpecifiedTradeProduct></r:IncludedSupplyChainTradeLineItem><r:ApplicableHeaderTradeAgreement>
<r:BuyerReference>zqbuyerrefx</r:BuyerReference><r:SellerTradeParty><r:Name>zqvendorx</r:Name>
<r:DefinedTradeContact><r:PersonName>zqclerkx</r:PersonName></r:DefinedTradeContact>
</r:SellerTradeParty><r:BuyerTradeParty><r:Name>zqcustomerx</r:Name><r:PostalTradeAddress>
<r:CityName>zqcityx</r:CityName></r:PostalTradeAddress></r:BuyerTradeParty>
</r:ApplicableHeaderTradeAgreement><r:ApplicableHeaderTradeSettlement>
<r:PaymentReference>zqpaymentx</r:PaymentReference><r:InvoiceCurrencyCode>EUR</r:InvoiceCurrencyCode>
<r:SpecifiedTradePaymentTerms><r:Description>zqtermsx</r:Description></r:SpecifiedTradePaymentTerms>
<r:SpecifiedTradeSettlementHeaderMonetarySummation><r:DuePayableAmount>10</r:DuePayableAmount>
</r:SpecifiedTradeSettlementHeaderMonetarySummation></r:ApplicableHeaderTradeSettlement>
</r:SupplyChainTradeTransaction></r:CrossIndustryInvoice>
"""
CHATGPT = [
    {
        "title": "zqtitlex",
        "conversation_id": "zqchatx",
        "gizmo_id": "zqgizmox",
        "mapping": {
            "a": {
                "id": "a",
                "message": {
                    "id": "zqmessagex",
                    "author": {"role": "user", "name": "zqauthorx"},
                    "create_time": 1_715_601_600,
                    "content": {"content_type": "text", "parts": ["zqaskedx"]},
                    "metadata": {"attachments": [{"name": "zqfilex"}], "model_slug": "zqmodelx"},
                },
            },
            "b": {
                "id": "b",
                "message": {
                    "id": "m2",
                    "author": {"role": "tool", "name": "zqtoolx"},
                    "create_time": 1_715_601_601,
                    "content": {"content_type": "code", "language": "zqpythonx", "text": "zqcodex"},
                    "recipient": "zqrecipientx",
                },
            },
            "c": {
                "id": "c",
                "message": {
                    "id": "m3",
                    "author": {"role": "user"},
                    "create_time": 1_715_601_602,
                    "content": {
                        "content_type": "multimodal_text",
                        "parts": [
                            {
                                "content_type": "image_asset_pointer",
                                "asset_pointer": "file://zqpicturex",
                            }
                        ],
                    },
                },
            },
        },
    }
]
CLAUDE = [
    {
        "uuid": "zqchatx",
        "name": "zqtitlex",
        "summary": "zqsummaryx",
        "account": {"uuid": "zqaccountx"},
        "chat_messages": [
            {
                "uuid": "zqmessagex",
                "sender": "human",
                "text": "zqtextx",
                "content": [
                    {"type": "text", "text": "zqtextx", "citations": [{"url": "zqcitedx"}]},
                    {"type": "tool_use", "name": "zqtoolx", "input": {"query": "zqqueryx"}},
                    {"type": "tool_result", "content": [{"text": "zqresultx"}]},
                ],
                "created_at": "2024-05-13T14:00:00+02:00",
                "updated_at": "2024-05-13T14:05:00+02:00",
                "attachments": [
                    {
                        "file_name": "zqfilex",
                        "extracted_content": "zqextractx",
                        "file_type": "zqkindx",
                    }
                ],
                "files": [{"file_name": "zqotherfilex"}],
            },
            {"uuid": "m2", "sender": "human", "text": "", "files": [{"file_name": "zqonlyfilex"}]},
        ],
    }
]
TELEGRAM = {
    "name": "zqchatx",
    "type": "private_group",
    "id": 7,
    "messages": [
        {
            "id": 1,
            "type": "message",
            "date": "2024-05-13T14:00:00",
            "from": "zqfromx",
            "from_id": "zqfromidx",
            "text": ["zqtextx ", {"type": "text_link", "text": "zqlinkx", "href": "zqhrefx"}],
            "edited": "2024-05-13T14:09:00",
            "forwarded_from": "zqforwardx",
            "reply_to_message_id": 5,
            "reactions": [{"type": "emoji", "count": 1, "emoji": "zqemojix"}],
        },
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-13T14:01:00",
            "from": "zqfromx",
            "text": "",
            "photo": "zqphotox",
            "file": "zqfilex",
            "poll": {"question": "zqpollx", "answers": [{"text": "zqanswerx"}]},
        },
        {
            "id": 3,
            "type": "service",
            "date": "2024-05-13T14:02:00",
            "actor": "zqactorx",
            "action": "zqactionx",
            "title": "zqnewtitlex",
            "members": ["zqmemberx"],
            "text": "",
        },
    ],
}
SLACK = [
    {
        "type": "message",
        "user": "zquserx",
        "text": "zqtextx",
        "ts": "1715601600.000100",
        "user_profile": {"real_name": "zqrealx", "title": "zqjobx"},
        "edited": {"user": "zqeditorx"},
        "files": [{"name": "zqfilex", "title": "zqfiletitlex"}],
        "attachments": [{"fallback": "zqfallbackx", "text": "zqattachedx"}],
        "reactions": [{"name": "zqreactionx", "users": ["zqreacterx"]}],
        "thread_ts": "1715601500.000100",
    },
    {"type": "message", "user": "U2", "text": "", "ts": "1715601601.000100",
     "files": [{"name": "zqonlyfilex"}]},
]  # fmt: skip
WHATSAPP = """13/05/2024, 09:00 - Messages are zqencryptedx
13/05/2024, 09:01 - zqannx: zqhellox
zqmorex
13/05/2024, 09:02 - zqbox: IMG-1.jpg (file attached)
zqcaptionx
13/05/2024, 09:03 - zqannx added zqcyx
13/05/2024, 09:04 - zqbox: zqbyex <This message was edited>
"""
PAYPAL = """"Date","Time","TimeZone","Name","Type","Status","Currency","Gross","Fee","Net",\
"From Email Address","To Email Address","Transaction ID","Item Title","Subject","Note","Country"
"02/25/2024","12:00:00","PDT","zqnamex","zqtypex","Completed","EUR","10.00","-1.00","9.00",\
"zqfromx@x.example","zqtox@x.example","zqidx","zqitemx","zqsubjectx","zqnotex","zqlandx"
"02/26/2024","12:00:00","PDT","zqwaitingx","zqothertypex","Pending","EUR","10.00","-1.00","9.00",\
"","","zqpendingx","","","",""
""".replace("\\\n", "")
REVOLUT = """zqbankx
Owner;zqownerx

Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance,,
CARD,zqproductx,2024-01-02 10:00:00,2024-01-03 10:00:00,zqshopx,-5,0,EUR,COMPLETED,9,zqextrax,zqfarx
TOPUP,zqproductx,2024-01-04 10:00:00,2024-01-05 10:00:00,zqtopx,5,0,EUR,COMPLETED,14,,
,,,,zqcontinuedx,,,,,,,
zqendx,,,,,7.00,,,,,,
"""
PLAID = {
    "accounts": [{"account_id": "zqaccountx", "name": "zqcheckingx", "balances": {"current": 1}}],
    "transactions": [
        {
            "transaction_id": "zqidx",
            "account_id": "zqaccountx",
            "amount": 72.1,
            "iso_currency_code": "USD",
            "date": "2024-01-02",
            "name": "zqpurchasex",
            "merchant_name": "zqmerchantx",
            "pending": False,
            "payment_channel": "zqchannelx",
            "check_number": "zqcheckx",
            "location": {"city": "zqcityx", "store_number": "zqstorex"},
            "personal_finance_category": {"primary": "zqprimaryx", "detailed": "zqdetailx"},
            "counterparties": [{"name": "zqpartyx", "type": "zqkindx"}],
        }
    ],
    "request_id": "zqrequestx",
}
STRIPE = {
    "object": "list",
    "url": "/v1/charges",
    "data": [
        {
            "id": "zqidx",
            "object": "charge",
            "amount": 1050,
            "amount_refunded": 0,
            "currency": "eur",
            "created": 1_704_153_600,
            "status": "succeeded",
            "paid": True,
            "refunded": False,
            "livemode": True,
            "description": "zqpurposex",
            "receipt_email": "zqmailx@x.example",
            "billing_details": {"name": "zqnamex", "address": {"city": "zqcityx"}},
            "metadata": {"order": "zqorderx"},
            "payment_method_details": {"card": {"brand": "zqbrandx", "last4": "zqlastx"}},
        }
    ],
}


def an_open_workbook() -> bytes:
    """A workbook of OpenDocument with a comment and a hidden sheet."""
    cell = "<table:table-cell office:value-type='string'>{}<text:p>{}</text:p></table:table-cell>"
    note = "<office:annotation><text:p>zqcommentx</text:p></office:annotation>"
    rows = (("", "zqtitlex"), ("", "Name")), ((note, "zqleftx"), ("", "zqrightx"))
    said = "".join(
        f"<table:table-row>{''.join(cell.format(*each) for each in row)}</table:table-row>"
        for row in rows
    )
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = " ".join(f'xmlns:{n}="{urn}:{n}:1.0"' for n in ("office", "table", "text"))
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="Sheet">{said}</table:table></office:spreadsheet></office:body>'
        "</office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>'
    parts = {"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest}
    return an_archive(parts)


def an_outlook_message() -> bytes:
    texts = {0x0037: "zqsubjectx", 0x1000: "zqbodyx", 0x0C1A: "zqsenderx", 0x0E04: "zqdisplayx"}
    texts |= {0x0070: "zqtopicx", 0x0042: "zqbehalfx", 0x0C1F: "s@x.example"}
    people = [("zqtox", "zqmailx@x.example", 1)]
    files = {"zqfilex.txt": b"zqwithinx"}
    return a_saved_message(texts, sent=1_715_601_600, to=people, files=files)


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="p"'


def of_word(kind: str, text: str) -> str:
    return f"<w:{kind} {W}><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:{kind}>"


def a_letter_with_parts() -> bytes:
    letter = a_letter("zqbodyx", table=[["zqcellx", "zqothercellx"]])
    for name, kind, text in (
        ("header1", "hdr", "zqheaderx"),
        ("footer2", "ftr", "zqfooterx"),
        ("comments", "comments", "zqcommentx"),
    ):
        letter = with_part(letter, f"word/{name}.xml", of_word(kind, text))
    return letter


def an_open_text() -> bytes:
    content = (
        '<o:body xmlns:o="o" xmlns:t="t"><t:p>zqbodyx<t:note><t:note-body><t:p>zqnotex</t:p>'
        "</t:note-body></t:note></t:p><t:annotation><t:p>zqannotationx</t:p></t:annotation>"
        "</o:body>"
    )
    styles = '<o:s xmlns:o="o" xmlns:t="t"><t:header><t:p>zqheaderx</t:p></t:header></o:s>'
    kind = "application/vnd.oasis.opendocument.text"
    return an_archive({"mimetype": kind, "content.xml": content, "styles.xml": styles})


def some_slides() -> bytes:
    def of(kind: str, text: str) -> str:
        return f"<p:{kind} {A}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:{kind}>"

    return an_archive(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": f"<p:p {A}/>",
            "ppt/slides/slide1.xml": of("sld", "zqslidex"),
            "ppt/notesSlides/notesSlide1.xml": of("notes", "zqspeakerx"),
            "ppt/comments/comment1.xml": f"<p:c {A}><p:text>zqcommentx</p:text></p:c>",
        }
    )


def nest_objects(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"zqinnerx": "zqdeepestx"}
    for number in range(depth):
        inner = {"level": f"zqlevel{number}x", "inner": inner}
    return {"title": "Deep", **inner}


def a_book() -> bytes:
    """A book with one chapter."""
    files = "urn:oasis:names:tc:opendocument:xmlns:container"
    return an_archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f'<c:c xmlns:c="{files}"><c:rootfile full-path="b"/></c:c>',
            "b": '<package><manifest><item id="a" href="a.html"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
            "a.html": "<html><body><h1>zqchapterx</h1><p>zqparax</p></body></html>",
        }
    )


def a_paid_bill() -> bytes:
    """A bill on paper with the same bill for programs, as Factur-X and ZUGFeRD have it."""
    return with_file(a_pdf("Invoice zqpaperx\nzqfootx"), "factur-x.xml", CII.encode())


def marks_in_notes(marks: str) -> dict[str, str]:
    """The texts that have no field and stand in a note."""
    return {mark: mark for mark in marks.split()}


RELAYED = {"zqrelayx": "Lines about the transport of messages were not read"}
BESIDE_CAMT = marks_in_notes("zqmsgx zqheadx zqstmtx zqownerx zqservicerx zqstmtinfox zqpendingx")
FILES: dict[str, tuple[str | bytes, dict[str, str]]] = {
    "a.ics": (CALENDAR, {"zqalarmx": "Alarms of entries", "zqbusyx": "somebody is busy"}),
    "a.vcf": (CARD, {}),
    "a.html": (PAGE, {"zqcommentx": "Comments in the source", "zqstruckx": "Struck-out text"}),
    "a.eml": (MAIL, RELAYED),
    "a.md": (NOTE, {}),
    "a.docx": (a_letter_with_parts(), {"zqcommentx": "not read: zqcommentx"}),
    "a.odt": (an_open_text(), {"zqannotationx": "not read: zqannotationx"}),
    "a.pptx": (some_slides(), {"zqcommentx": "not read: zqcommentx"}),
    "a.rtf": (
        r"{\rtf1\ansi{\header zqheaderx}zqbodyx{\footnote zqfootx}{\*\annotation zqnotex}\par}",
        {"zqnotex": "not read: zqnotex"},
    ),
    "a.xlsx": (a_workbook({"Sheet": [["Name", "zqtitlex"], ["zqleftx", "zqrightx"]]}), {}),
    "a.csv": ("Name;zqcolumnx;;\nAnn;zqvaluex;zquntitledx;\n;;;zqfarx\nzqsinglex\n", {}),
    "deep.json": (json.dumps(nest_objects(40)), {}),
    "wrapped.json": (
        json.dumps({"people": [{"name": "zqannx"}], "note": "zqbesidex", "count": 1}),
        {"zqbesidex": "Values beside the records were not read: note: zqbesidex"},
    ),
    "a.sta": (MT940, marks_in_notes("zqstatementx zqrelatedx zqnumberx zqtailx")),
    "day.sta": (MT942, marks_in_notes("zqreportx zqtailx")),
    "camt.053.xml": (CAMT, BESIDE_CAMT),
    "camt.052.xml": (
        re.sub("Stmt>", "Rpt>", CAMT.replace("BkToCstmrStmt", "BkToCstmrAcctRpt")).replace(
            "053", "052"
        ),
        BESIDE_CAMT,
    ),
    "camt.054.xml": (
        re.sub("Stmt>", "Ntfctn>", CAMT.replace("BkToCstmrStmt", "BkToCstmrDbtCdtNtfctn")).replace(
            "053", "054"
        ),
        BESIDE_CAMT,
    ),
    "a.ofx": (OFX, marks_in_notes("zqhellox zqorgx zqbankx zqmarketingx")),
    "a.qif": (QIF, marks_in_notes("zqaboutx zqcatx zqcataboutx zqsecurityx")),
    "ubl.xml": (UBL, {}),
    "cii.xml": (CII, {}),
    "chatgpt.json": (json.dumps(CHATGPT), {}),
    "claude.json": (json.dumps(CLAUDE), {}),
    "telegram.json": (json.dumps(TELEGRAM), {}),
    "slack.json": (json.dumps(SLACK), {}),
    "whatsapp.txt": (WHATSAPP, {}),
    "paypal.csv": (PAYPAL, marks_in_notes("zqwaitingx zqothertypex zqpendingx")),
    "revolut.csv": (REVOLUT, marks_in_notes("zqbankx zqownerx zqendx")),
    "plaid.json": (json.dumps(PLAID), marks_in_notes("zqrequestx")),
    "stripe.json": (json.dumps(STRIPE), {}),
    "a.ods": (an_open_workbook(), marks_in_notes("zqcommentx")),
    "a.msg": (an_outlook_message(), {}),
    "a.mbox": (f"From a@x.example Mon May 13 09:00:00 2024\n{MAIL}", RELAYED),
    "a.jsonl": ('{"name": "zqannx", "zqkeyx": "zqvaluex"}\n{"name": "zqbox"}\n', {}),
    "a.epub": (a_book(), {}),
    "a.pdf": (a_pdf("zqfirstx", "zqsecondx"), {}),
    "bill.pdf": (a_paid_bill(), {}),
    "comments.xlsx": (
        with_part(
            a_workbook({"Sheet": [["Name", "Note"], ["zqleftx", "zqrightx"]]}),
            "xl/comments1.xml",
            "<comments><commentList><comment><text><t>zqcommentx</t></text></comment></commentList>"
            "</comments>",
        ),
        marks_in_notes("zqcommentx"),
    ),
    "a.zip": (an_archive({"zqfilex.txt": b"zqwithinx"}), {}),
    "a.txt": ("zqfirstx\n\nzqsecondx\n" + "more\n" * 5 + "zqlastx", {}),
}


def marks_in(content: str | bytes, name: str) -> set[str]:
    if isinstance(content, str):
        return set(re.findall(r"zq[a-z0-9]+x", content))
    known = {
        "a.docx": "zqbodyx zqcellx zqothercellx zqheaderx zqfooterx zqcommentx",
        "a.odt": "zqbodyx zqnotex zqannotationx zqheaderx",
        "a.pptx": "zqslidex zqspeakerx zqcommentx",
        "a.xlsx": "zqtitlex zqleftx zqrightx",
        "a.ods": "zqtitlex zqleftx zqrightx zqcommentx",
        "a.msg": "zqsubjectx zqbodyx zqsenderx zqdisplayx zqtopicx zqbehalfx zqtox zqmailx zqfilex",
        "a.zip": "zqfilex zqwithinx",
        "a.epub": "zqchapterx zqparax",
        "a.pdf": "zqfirstx zqsecondx",
        "bill.pdf": f"zqpaperx zqfootx {' '.join(re.findall(r'zq[a-z0-9]+x', CII))}",
        "comments.xlsx": "zqleftx zqrightx zqcommentx",
    }
    return set(known[name].split())


def test_each_kind_of_file_except_pictures_is_covered() -> None:
    contents = ((name, content) for name, (content, _) in FILES.items())
    kinds = {
        LocalReader().kind_of(c.encode() if isinstance(c, str) else c, FileHint(name=name))
        for name, c in contents
    }
    # One reader reads the workbooks of all programs, and nothing here writes those before 2007.
    assert kinds == {kind for kind in FileType if not kind.is_image} - {FileType.XLS}


@pytest.mark.parametrize("name", FILES)
async def test_each_text_of_a_file_is_findable_or_reported(name: str) -> None:
    content, noted = FILES[name]
    data = content.encode() if isinstance(content, str) else content
    driver = make_driver()
    reply = await driver.call(
        "ingest",
        user_id=driver.user,
        file_content=base64.b64encode(data).decode(),
        mime_type="application/octet-stream",
        original_filename=name,
    )
    shown = [json.dumps(reply.get("members", []))]
    for each in (await driver.call("retrieve_entities", limit=100))["entities"]:
        whole = await driver.call("get_entity_snapshot", entity_id=each["id"])
        kept = (whole["snapshot"], whole.get("raw_fragments"))
        shown.append(json.dumps(kept, ensure_ascii=False))
    reading = await LocalReader().examine_file(data, FileHint(name=name))
    # The text of other kinds is cut into passages.
    shown.append("" if reading.kind.is_data else reading.whole_text)
    lost = {mark for mark in marks_in(content, name) if not any(mark in each for each in shown)}
    notes = " ".join(each["message"] for each in reply["warnings"])

    assert lost == noted.keys()
    assert [note for note in noted.values() if note not in notes] == []
