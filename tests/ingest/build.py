"""Tiny office files, built by hand."""

from __future__ import annotations

import io
import tarfile
import zipfile

_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def zipped(parts: dict[str, bytes]) -> bytes:
    """A zip file of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def tar(entries: dict[str, bytes], mode: str = "w", **options: object) -> bytes:
    """A tar archive of these files; ``mode`` and ``options`` as of :func:`tarfile.open`."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode, **options) as archive:  # type: ignore[call-overload]
        for name, data in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def relations(*entries: tuple[str, str]) -> bytes:
    """A relationships part: (kind, target) under the ids r1, r2, ..."""
    items = "".join(
        f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(entries, 1)
    )
    return f'<Relationships xmlns="{_RELATIONS}">{items}</Relationships>'.encode()


def docx(body: str, *, strict: bool = False, **others: str) -> bytes:
    """A Word file with this body; ``others`` are the inner XML of styles, numbering, footnotes, comments, header1."""
    space = "http://purl.oclc.org/ooxml/wordprocessingml/main" if strict else W
    names = " ".join(
        f'xmlns:{prefix}="{uri}"'
        for prefix, uri in {
            "w": space,
            "r": _OFFICE,
            "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
            "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
            "v": "urn:schemas-microsoft-com:vml",
        }.items()
    )
    parts = {
        "_rels/.rels": relations(("officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {names}><w:body>{body}</w:body></w:document>".encode(),
        "word/_rels/document.xml.rels": relations(*((name.rstrip("123"), f"{name}.xml") for name in others)),
    }
    for name, inner in others.items():
        parts[f"word/{name}.xml"] = f"<w:{name.rstrip('123')} {names}>{inner}</w:{name.rstrip('123')}>".encode()
    return zipped(parts)


def xlsx(sheets: dict[str, str], extra: dict[str, str] | None = None) -> bytes:
    """A workbook of sheets given as their rows' XML; ``extra`` is XML that follows a sheet's data."""
    space = f'xmlns="{MAIN}" xmlns:r="{_OFFICE}"'
    listed = "".join(f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1))
    parts = {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {space}><sheets>{listed}</sheets></workbook>".encode(),
        "xl/_rels/workbook.xml.rels": relations(
            *(("worksheet", f"worksheets/s{n}.xml") for n in range(1, len(sheets) + 1))
        ),
    }
    for number, (name, rows) in enumerate(sheets.items(), 1):
        after = (extra or {}).get(name, "")
        data = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>{after}</worksheet>'
        parts[f"xl/worksheets/s{number}.xml"] = data.encode()
    return zipped(parts)


def cells(rows: dict[str, list[str | float]]) -> str:
    """Rows of a sheet from ``{"B2": [values to the right]}``; texts are inline strings."""
    out = []
    for place, values in rows.items():
        column, number = ord(place[0]) - ord("A"), place[1:]
        found = []
        for offset, value in enumerate(values):
            where = f"{chr(ord('A') + column + offset)}{number}"
            if isinstance(value, str):
                found.append(f'<c r="{where}" t="inlineStr"><is><t>{value}</t></is></c>' if value else "")
            else:
                found.append(f'<c r="{where}"><v>{value}</v></c>')
        out.append(f'<row r="{number}">{"".join(found)}</row>')
    return "".join(out)


def pdf(*pages: str, size: tuple[int, int] = (600, 800), page: str = "") -> bytes:
    """A PDF of pages given as content streams; ``page`` is added to every page dictionary. Fonts: F1 (Helvetica)."""
    objects = ["", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for stream in pages:
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        kids.append(len(objects) + 1)
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {size[0]} {size[1]}] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> {page} >>"
        )
    objects[0] = "<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>"
    out = "%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return f"{out}xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{end}".encode("latin-1")


def text_at(x: float, y: float, text: str, size: int = 10) -> str:
    """The operators that draw ``text`` with its baseline at (x, y) in points from the lower left."""
    return f"BT /F1 {size} Tf {x} {y} Td ({text}) Tj ET\n"
