"""Invoices, transactions, receipts and contracts."""

from typing import Final

from canonry.log.schemas.truth_types.kit import (
    ARRAY,
    array,
    built_in,
    date,
    key,
    number,
    text,
    texts,
)

_IMPORT: Final = (date("import_date"), text("import_source_file"))

INVOICE: Final = built_in(
    "invoice",
    "Invoice",
    also="bill factura rechnung facture",
    fields=(
        text("invoice_number", "number", "invoice_no", "invoice_id", required=True),
        date("invoice_date", "date_issued", "issue_date", required=True, event="InvoiceIssued"),
        number("amount_due", "total_amount", "total", "amount_total", required=True),
        text("currency", required=True),
        date("date_due", "due_date", event="InvoiceDue"),
        date("date_paid", "paid_date", event="InvoicePaid"),
        text("vendor_name", "vendor", "seller", "supplier", "supplier_name"),
        text("customer_name", "customer", "client_name", "bill_to"),
        number("amount"),
        number("tax_amount"),
        text("tax_rate"),
        number("subtotal"),
        array("items", "line_items"),
        number("tax_year"),
        text("payment_terms", "terms"),
        text("purchase_order", "po_number"),
        *texts("iban tax_id email phone"),
        *texts("status description notes"),
        *_IMPORT,
    ),
    identity=(key("invoice_number", apart="vendor_name"),),
    names=("invoice_number", "vendor_name invoice_date"),
)

TRANSACTION: Final = built_in(
    "transaction",
    "Transaction",
    also="transactions txn expense payment transaccion",
    fields=(
        number("amount"),
        number("amount_original"),
        text("currency"),
        text("currency_original", "original_currency"),
        date("date", "transaction_date", "date_transacted", event="TransactionDate"),
        date("posting_date", "date_posted", event="TransactionPosted"),
        date("value_date"),
        number("balance"),
        text("merchant_name", "counterparty", "merchant", "payee"),
        text("account_id", "account"),
        text("transaction_id", "tx_hash", "transaction_number"),
        *texts("status category bank_provider description notes"),
        number("occurrence"),
        *_IMPORT,
    ),
    identity=(
        key("transaction_id", apart="account_id"),
        key(
            "date|posting_date amount|amount_original",
            optional="merchant_name|description account_id occurrence",
            apart="currency description balance",
        ),
    ),
    names=("merchant_name date amount", "transaction_id", "description date amount", "date amount"),
)

RECEIPT: Final = built_in(
    "receipt",
    "Receipt",
    also="proof_of_purchase recibo comprobante quittung",
    fields=(
        text("merchant_name", "vendor_name", "store", "store_name", required=True),
        number("amount_total", "total", "total_amount", required=True),
        text("currency", required=True),
        date("date_purchased", "purchase_date", "date", required=True, event="ReceiptIssued"),
        text("receipt_number", "number", "receipt_no", "receipt_id"),
        text("payment_method"),
        array("items", "line_items"),
        number("tax_amount", "tax"),
        number("subtotal"),
        text("merchant"),
        number("amount"),
        date("transaction_date", event="TransactionDate"),
        date("posting_date"),
        *texts("description notes category account status transaction_id"),
        number("occurrence"),
        *_IMPORT,
    ),
    identity=(
        key("receipt_number", apart="merchant_name|merchant"),
        key(
            "merchant_name|merchant date_purchased|transaction_date amount_total|amount",
            optional="occurrence",
        ),
    ),
    names=("merchant_name date_purchased", "merchant transaction_date", "receipt_number"),
)

CONTRACT: Final = built_in(
    "contract",
    "Contract",
    also="agreement legal_document contrato vertrag",
    fields=(
        text("name", "title"),
        text("contract_number", "number", "contract_no", "contract_id"),
        array("parties", policy=ARRAY),
        date("effective_date", "date_effective", "start_date", event="ContractEffective"),
        date("expiration_date", "date_expiry", "expiry_date", "end_date", event="ContractExpires"),
        date("signed_date", "date_signed", "signature_date", event="ContractSigned"),
        array("companies", policy=ARRAY),
        array("files", policy=ARRAY),
        text("type", "contract_type"),
        number("amount", "value", "total_value"),
        *texts("status currency notes"),
        *_IMPORT,
    ),
    identity=(key("contract_number"), key("name parties")),
    names=("name", "contract_number"),
)
