"""Money as it is shown: a decimal and a currency of ISO 4217, never a float."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

CURRENCIES = frozenset(
    "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD "
    "CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ "
    "GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR "
    "LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN "
    "PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB "
    "TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG".split()
)
"""ISO 4217's currencies in circulation."""
_DECIMALS = {
    **dict.fromkeys(
        "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(),
        0,
    ),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
_QUANTA = {0: Decimal(1), 2: Decimal("0.01"), 3: Decimal("0.001")}
AMOUNTS_KEPT = 8_192


@lru_cache(maxsize=AMOUNTS_KEPT)
def quantised(amount: Decimal, currency: str) -> Decimal:
    """The amount with its currency's decimals, half a unit rounded up."""
    return amount.quantize(_QUANTA[_DECIMALS.get(currency, 2)], rounding=ROUND_HALF_UP)


def shown(amount: Decimal | None, currency: str | None) -> str | None:
    """The amount as answers give it (API 1): `12500.00`."""
    return None if amount is None else f"{quantised(amount, currency or ''):f}"


def spoken(amount: Decimal, currency: str) -> str:
    """The amount in a sentence: `INR 12,500`, with decimals only where there are any."""
    value = quantised(amount, currency)
    return f"{currency} {value:,.0f}" if value == value.to_integral_value() else f"{currency} {value:,f}"
