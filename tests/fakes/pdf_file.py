"""Small PDF files written by hand: Helvetica, a line of text at a time, no compression.

    make_pdf([[("Sleep", 18), ("Sleep rests the brain.", 11)], [("Page two.", 11)]])

A page is a list of lines with their size in points. A line whose text begins with "*" is bold; an empty one is a gap.
"""

from __future__ import annotations

from collections.abc import Sequence

Page = Sequence[tuple[str, float]]

LEFT, TOP = 60, 800
_FONTS = b"<< /F1 3 0 R /F2 4 0 R >>"


def make_pdf(pages: Sequence[Page], *, encrypted: bool = False, title: str = "") -> bytes:
    """A whole PDF. `encrypted`: it says that it is, under a password that nobody knows."""
    kids = " ".join(f"{7 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        _font("Helvetica"),
        _font("Helvetica-Bold"),
        f"<< /Title ({title}) >>".encode(),
        f"<< /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{'5a' * 32}> /U <{'a5' * 32}> >>".encode(),
    ]
    for number, page in enumerate(pages):
        content = b"\n".join(_drawn(page))
        head = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {8 + 2 * number} 0 R /Resources << /Font "
        )
        objects.append(head.encode() + _FONTS + b" >> >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n".encode() + content + b"\nendstream")
    return _file(objects, "/Encrypt 6 0 R /ID [<00> <00>]" if encrypted else "")


def _font(name: str) -> bytes:
    return f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>".encode()


def _drawn(page: Page) -> list[bytes]:
    drawn, y = [], float(TOP)
    for text, size in page:
        y -= 1.2 * size
        if text:
            bold = text.startswith("*")
            written = text.removeprefix("*").encode("cp1252", "replace")
            for char in (b"\\", b"(", b")"):
                written = written.replace(char, b"\\" + char)
            font = 2 if bold else 1
            drawn.append(f"BT /F{font} {size} Tf {LEFT} {y:.1f} Td (".encode() + written + b") Tj ET")
    return drawn


def _file(objects: Sequence[bytes], extra: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R {extra} >>\n".encode()
    return bytes(out + f"startxref\n{table}\n%%EOF\n".encode())
