"""Small PDF documents."""

from __future__ import annotations


def pdf(*pages: str) -> bytes:
    """A document with one line of text on each page; an empty one stands for a scan."""
    kids = " ".join(f"{3 + 2 * n} 0 R" for n in range(len(pages)))
    font = 3 + 2 * len(pages)
    objects = ["<</Type /Catalog /Pages 2 0 R>>", f"<</Type /Pages /Kids [{kids}] /Count {len(pages)}>>"]
    for number, text in enumerate(pages):
        drawn = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else "0 0 10 10 re f"
        box = "/MediaBox [0 0 612 792]"
        resources = f"/Resources <</Font <</F1 {font} 0 R>>>>"
        objects.append(f"<</Type /Page /Parent 2 0 R {box} {resources} /Contents {4 + 2 * number} 0 R>>")
        objects.append(f"<</Length {len(drawn)}>>\nstream\n{drawn}\nendstream")
    objects.append("<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>")
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"trailer\n<</Size {len(objects) + 1} /Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF\n"
    return data + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()
