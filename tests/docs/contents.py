"""The generated page of contents: what the content of each type of proposal takes."""

from canonry.canon.judging.contents import CONTENT_SHAPES, ContentShape


def contents_page(note: str) -> str:
    """Every member of every type of content, with its other names."""
    intro = (
        f"# Contents of proposals\n\n{note}\n"
        "The `content` of a proposal takes these members and no others: what is unknown is\n"
        "refused with the nearest that is known. A member comes under one of its names.\n"
        "The resource `canonry://proposals/contents` tells the same as JSON schemas.\n"
    )
    return intro + "".join(map(_type, CONTENT_SHAPES.values()))


def _type(shape: ContentShape) -> str:
    rows = "".join(
        f"| `{one.name}`{' (required)' if one.required else ''} | {one.said} | {one.means} "
        f"| {', '.join(f'`{alias}`' for alias in one.aliases)} |\n"
        for one in shape.members
    )
    note = f"{shape.note}\n\n" if shape.note else ""
    head = "| member | holds | meaning | also taken as |\n| --- | --- | --- | --- |\n"
    return f"\n## {shape.type}\n\n{note}{head}{rows}"
